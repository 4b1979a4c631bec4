import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginningWithoutSecrets, concealed, withoutSecrets } from '../src/secrets.ts';

const SECRETS = ['sk-0123456789', 'pa55word'];

describe('texts without secrets', () => {
  it('say *** in their place', () => {
    expect(withoutSecrets('key sk-0123456789, again sk-0123456789, pa55word', SECRETS)).toBe('key ***, again ***, ***');
  });

  it('keep no beginning of a secret that a cut went through', () => {
    expect(beginningWithoutSecrets('you sent sk-0123456789', 16, SECRETS)).toBe('you sent ***');
    expect(beginningWithoutSecrets('you sent sk-012345', 100, SECRETS)).toBe('you sent ***');
    expect(beginningWithoutSecrets('you sent sk-', 100, SECRETS)).toBe('you sent sk-');
  });

  it('hold no four characters in a row from the start of a secret, wherever they are cut', () => {
    const part = fc.constantFrom('sk-0123456789', 'pa55word', ' ', 'x', 'sk', '***');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.nat(60), fc.nat(60), (parts, first, second) => {
        // The text may have been cut before it comes here.
        const out = beginningWithoutSecrets(parts.join('').slice(0, first), second, SECRETS);
        for (const secret of SECRETS) expect(out).not.toContain(secret.slice(0, 4));
      }),
    );
  });
});

describe('values without secrets', () => {
  it('are searched at any depth, and are otherwise the same', () => {
    const times = Float64Array.of(1, 2);
    const value = { a: ['x sk-0123456789', 1, null], b: { c: 'pa55word' }, times };
    expect(concealed(value, SECRETS)).toEqual({ a: ['x ***', 1, null], b: { c: '***' }, times });
    expect(concealed(value, [])).toBe(value);
  });
});
