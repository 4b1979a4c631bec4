import { describe, expect, it } from 'vitest';
import { helpText, shortUsage, wrap } from '../../src/options/help.ts';
import { optionsMarkdown } from '../../src/options/markdown.ts';
import { type Form, GROUPS } from '../../src/options/spec.ts';
import { OPTIONS, optionsOf } from '../../src/options/table.ts';

const FORMS: readonly Form[] = ['run', 'bench', 'report', 'samples', 'mock'];

describe('help', () => {
  it.each(FORMS)('of %s names every option it takes, and no other as its own', (form) => {
    const text = helpText(form, 100);
    const command = form === 'bench' ? 'run' : form;
    for (const [name] of optionsOf(command)) expect(text, name).toContain(`--${name}`);
    for (const [name, spec] of Object.entries(OPTIONS)) {
      if (!spec.commands.includes(command)) expect(text, name).not.toMatch(new RegExp(`^ +--${name}\\b(?!-)`, 'm'));
    }
  });

  it.each([40, 60, 80, 100, 120, 200])('fits into %i columns', (columns) => {
    const width = Math.min(columns, 120);
    // Texts only: a long option name or the usage line is better whole than broken. A word longer than the line stays whole, too.
    const tooLong = helpText('run', columns)
      .split('\n')
      .filter((line) => line.startsWith('      ') && line.length > width && line.trim().split(' ').length > 2);
    expect(tooLong).toEqual([]);
  });

  it('shows groups, units, choices and the defaults of the form', () => {
    const text = helpText('run', 120);
    for (const title of ['Server', 'Load', 'Data set', 'Metrics']) expect(text).toContain(`\n${title}:\n`);
    expect(text).not.toContain(`${GROUPS.faults}:`);
    const flat = (form: Form) => helpText(form, 120).replace(/\s+/g, ' ');
    const run = flat('run');
    expect(run).toMatch(/--port N [^[]*\[default: 5000\]/);
    expect(run).toMatch(/--connect-timeout TIME [^[]*\[s unless a unit is given; default: 10s\]/);
    expect(run).toMatch(/--lora-assignment HOW [^[]*\[random \| round-robin; default: random\]/);
    expect(run).toContain('--max-concurrency, --concurrency N ');
    expect(run).toMatch(/--request-rate RATE [^[]*\[in requests\/s; default: inf\]/);
    expect(flat('bench')).toMatch(/--port N [^[]*\[default: 8000\]/);
    expect(flat('mock')).toMatch(/--ttft TIME [^[]*\[ms unless a unit is given; default: 50ms\]/);
  });

  it('can be searched', () => {
    expect(helpText('run', 100, 'max_conc').split('\n')).toEqual([
      'Load:',
      '  --max-concurrency, --concurrency N',
      expect.stringContaining('Requests in flight'),
      expect.anything(),
    ]);
    expect(helpText('run', 100, 'nonsense')).toBe('No option has "nonsense" in its name. See tabby-load --help.');
  });

  it('is short when nothing was asked for', () => {
    expect(shortUsage().split('\n').length).toBeLessThan(15);
  });

  it('wraps at spaces and keeps every word', () => {
    expect(wrap('aa bb cccccc d', 5)).toEqual(['aa bb', 'cccccc', 'd']);
    expect(wrap('', 5)).toEqual([]);
  });
});

describe('options section of the README', () => {
  const markdown = optionsMarkdown();

  it('has a row for each option, and the reason for each that is refused', () => {
    for (const [name, spec] of Object.entries(OPTIONS)) {
      const row = markdown
        .split('\n')
        .find((line) => line.startsWith(`| \`--${name}\``) || line.startsWith(`| \`--${name} `));
      expect(row, name).toBeDefined();
      if (spec.refused !== undefined) expect(row).toContain(spec.refused);
    }
  });

  it('shows both defaults where they differ', () => {
    expect(markdown).toContain('| `--port N` | 5000; bench serve: 8000 |');
    expect(markdown).toContain('| `--seed N` | 0 |');
  });

  it('is made of well-formed table rows', () => {
    const rows = markdown.split('\n').filter((line) => line.startsWith('|'));
    const cells = rows.map((row) => row.replaceAll('\\|', '').split('|').length - 2);
    expect(new Set(cells)).toEqual(new Set([2, 4]));
  });
});
