/** The yargs declaration of a command, made from the table. */
import yargs from 'yargs';
import type { RawOption } from './resolve.ts';
import type { CommandName } from './spec.ts';
import { optionsOf } from './table.ts';

const LISTS: ReadonlySet<string> = new Set(['words', 'pairs', 'slo']);

/**
 * Lets yargs read the settled options of a command, strictly. They are handed over as `--name=word`, so that no word can be taken
 * for something else; yargs' own guesses (numbers, dots, negation, camel case) are off, because a model may be called 1e5.
 * @throws Error when yargs knows an option that the table does not, or the other way round: a bug of ours.
 */
export function readByYargs(raw: ReadonlyMap<string, RawOption>, command: CommandName): Map<string, RawOption> {
  const parser = yargs()
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'short-option-groups': false,
      'greedy-arrays': false,
    })
    .help(false)
    .version(false)
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new Error(message);
    })
    .strictOptions();
  for (const [name, spec] of optionsOf(command)) {
    if (spec.type === 'boolean') parser.option(name, { type: 'boolean' });
    else parser.option(name, { type: 'string', array: LISTS.has(spec.type) });
  }
  const words = [...raw].flatMap(([name, { negated, words: given }]) =>
    given.length > 0 ? given.map((word) => `--${name}=${word}`) : [`--${name}=${negated ? 'false' : 'true'}`],
  );
  const found = parser.parseSync(words) as Readonly<Record<string, unknown>>;
  const result = new Map<string, RawOption>();
  for (const [name, { words: given }] of raw) {
    const value = found[name];
    if (typeof value === 'boolean') result.set(name, { negated: !value, words: [] });
    else if (Array.isArray(value))
      result.set(name, { negated: false, words: given.length === 0 ? [] : value.map(String) });
    else result.set(name, { negated: false, words: [String(value)] });
  }
  return result;
}
