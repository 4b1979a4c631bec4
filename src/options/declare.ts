/** The yargs declaration of a command, made from the table. */
import yargs from 'yargs';
import type { RawOption } from './resolve.ts';
import type { CommandName } from './spec.ts';
import { OPTIONS, optionsOf } from './table.ts';
import { LISTS } from './tokens.ts';

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
  const words = [...raw].flatMap(([name, use]) =>
    isFlag(use, name) ? [`--${name}=${use.negated ? 'false' : 'true'}`] : use.words.map((word) => `--${name}=${word}`),
  );
  const found = parser.parseSync(words) as Readonly<Record<string, unknown>>;
  return new Map([...raw].map(([name, use]) => [name, readBack(use, found[name])]));
}

function isFlag(use: RawOption, name: string): boolean {
  return use.words.length === 0 && OPTIONS[name]?.type === 'boolean';
}

/** An option as yargs returned it. An empty list is not there at all. */
function readBack(use: RawOption, value: unknown): RawOption {
  if (value === undefined) return { ...use, words: [] };
  if (typeof value === 'boolean') return { ...use, negated: !value };
  return { ...use, words: Array.isArray(value) ? value.map(String) : [String(value)] };
}
