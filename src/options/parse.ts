/** The command line as a whole: which command, which options, or all that is wrong with them at once. */
import { usageError } from '../errors.ts';
import { readConfigFile } from './config-file.ts';
import { helpText, shortUsage } from './help.ts';
import { secretsOf, withoutSecrets } from './redact.ts';
import { derive, type Environment, resolveValues, settleRepeats, type Values } from './resolve.ts';
import type { CommandName, Form } from './spec.ts';
import { suggest } from './suggest.ts';
import type {
  CompareOptions,
  MockOptions,
  OverheadOptions,
  ReportOptions,
  RunOptions,
  SamplesOptions,
  SweepOptions,
} from './table.ts';
import { type Occurrence, type Tokens, tokenize } from './tokens.ts';
import { typedWords } from './typed.ts';
import { type Checked, validate } from './validate.ts';

/** What a command line asks for. */
export type CommandLine =
  | { readonly command: 'run'; readonly options: RunOptions }
  | { readonly command: 'sweep'; readonly options: SweepOptions }
  | { readonly command: 'report'; readonly options: ReportOptions }
  | { readonly command: 'compare'; readonly options: CompareOptions }
  | { readonly command: 'samples'; readonly options: SamplesOptions }
  | { readonly command: 'mock'; readonly options: MockOptions }
  | { readonly command: 'overhead'; readonly options: OverheadOptions }
  /** `asked` is false when nothing at all was given: then the text is a reminder, and the exit code says so. */
  | { readonly command: 'help'; readonly text: string; readonly asked: boolean }
  | { readonly command: 'version' };

const COMMANDS: readonly CommandName[] = ['run', 'sweep', 'report', 'compare', 'samples', 'mock', 'overhead'];

/**
 * Reads a command line (without node and the script). Prints nothing and leaves nothing behind; the only files it reads are those
 * of `--config`.
 * @param columns width for the help text
 * @throws AppError (exit code 2) that lists every mistake, each with its option and the remedy, and no secret.
 */
export async function parseCommandLine(argv: readonly string[], env: Environment, columns = 100): Promise<CommandLine> {
  if (argv.length === 0) return { command: 'help', text: shortUsage(), asked: false };
  const { form, rest, helpWanted } = splitCommand(argv);
  const command: CommandName = form === 'bench' ? 'run' : form;
  const tokens = tokenize(rest, command, form);
  if (helpWanted || tokens.help !== undefined) {
    return { command: 'help', text: helpText(form, columns, tokens.help ?? ''), asked: true };
  }
  if (tokens.version) return { command: 'version' };
  const options = await readOptions(tokens, env, command, form, argv);
  // A dry run shows what the run would send: "samples", with the options and defaults of the run.
  return {
    command: 'dryRun' in options && options['dryRun'] === true ? 'samples' : command,
    options,
  } as unknown as CommandLine;
}

/** The command's name in front, if there is one. `bench serve` is two words, as in vLLM. */
function splitCommand(argv: readonly string[]): { form: Form; rest: readonly string[]; helpWanted: boolean } {
  const [first, second] = argv;
  if (first === 'help') {
    return { ...splitCommand(argv.slice(1)), helpWanted: true };
  }
  if (first === undefined || first.startsWith('-')) return { form: 'run', rest: argv, helpWanted: false };
  if (first === 'bench') {
    if (second === 'serve') return { form: 'bench', rest: argv.slice(2), helpWanted: false };
    if (second === undefined || second.startsWith('-')) {
      if (second === '--help' || second === '-h') return { form: 'bench', rest: [], helpWanted: true };
      throw usageError('bench: which benchmark? Only "bench serve" is there');
    }
    throw usageError(`bench ${JSON.stringify(second)} is not there: only "bench serve"`);
  }
  const command = COMMANDS.find((name) => name === first);
  if (command !== undefined) return { form: command, rest: argv.slice(1), helpWanted: false };
  const near = suggest(first, COMMANDS);
  const hint = near === undefined ? `Commands: ${COMMANDS.join(', ')}, bench serve.` : `Did you mean "${near}"?`;
  throw usageError(`unknown command ${JSON.stringify(first.slice(0, 60))}`, hint);
}

const OPTION_NAME = /--[a-z][a-z-]*/g;

async function readOptions(
  tokens: Tokens,
  env: Environment,
  command: CommandName,
  form: Form,
  argv: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const problems = [...tokens.problems];
  const occurrences = await withConfig(tokens, command, form, problems);
  const { raw, warnings } = settleRepeats(occurrences, form);
  const { readByYargs } = await import('./declare.ts');
  const result = resolveValues(readByYargs(raw, command), env, command, form);
  derive(result, env, command, form);
  problems.push(...result.problems, ...positionalProblems(tokens.positionals, command));
  const facts = {
    form,
    given: result.given,
    warnings: [...warnings, ...result.warnings],
    typed: typedWords(argv, command, form),
  };
  const files = command === 'report' || command === 'compare' ? { files: tokens.positionals } : {};
  const options: Readonly<Record<string, unknown>> = { ...result.values, ...facts, ...files };
  // What follows from an option that is wrong by itself would be said twice.
  if (!problems.some((line) => /unknown option|did you mean/.test(line))) {
    const between = validate(options['dryRun'] === true ? 'samples' : command, options as unknown as Checked);
    const wrong = new Set(problems.flatMap((line) => line.match(OPTION_NAME) ?? []));
    // Without its name nothing can be said of the data set.
    if (wrong.has('--dataset-name') || wrong.has('--dataset-path')) wrong.add('--dataset');
    problems.push(...between.filter((line) => !(line.match(OPTION_NAME) ?? []).some((name) => wrong.has(name))));
  }
  if (problems.length > 0) throw mistakes(problems, result, env, command, form);
  return Object.freeze(options);
}

/** Options of config files come first and yield, option by option, to those on the command line. */
async function withConfig(tokens: Tokens, command: CommandName, form: Form, problems: string[]): Promise<Occurrence[]> {
  const [file, ...more] = tokens.configFiles;
  if (file === undefined) return [...tokens.occurrences];
  if (more.length > 0) problems.push('--config: only one file can be given');
  const config = await readConfigFile(file, command, form);
  problems.push(...config.problems);
  const onCommandLine = new Set(tokens.occurrences.map(({ name }) => name));
  return [...config.occurrences.filter(({ name }) => !onCommandLine.has(name)), ...tokens.occurrences];
}

function positionalProblems(words: readonly string[], command: CommandName): string[] {
  if (command === 'compare')
    return words.length > 1
      ? []
      : ['compare: which files? Give two or more results, record files or folders of sweeps'];
  if (command === 'report')
    return words.length > 0 ? [] : ['report: which files? Give files written by --save-records'];
  return words.map((word) => {
    // An option and its value in one pair of quotes: the value may be a key.
    const quoted = /^(--?[\w.-]+)\s/.exec(word)?.[1];
    return quoted === undefined
      ? `${JSON.stringify(word.slice(0, 60))}: not expected here; options begin with --`
      : `${quoted} and its value stand in one word: write ${quoted} VALUE without quotes around both`;
  });
}

function mistakes(
  problems: readonly string[],
  result: Values,
  env: Environment,
  command: CommandName,
  form: Form,
): Error {
  const apiKey = result.values['apiKey'];
  const header = result.values['header'];
  const secrets = secretsOf({
    apiKey: typeof apiKey === 'string' ? apiKey : null,
    header: typeof header === 'object' ? (header as Readonly<Record<string, string>> | null) : null,
  });
  for (const name of ['TABBY_API_KEY', 'OPENAI_API_KEY']) secrets.push(...secretsOf({ apiKey: env[name] ?? null }));
  const lines = [...new Set(problems)].map((line) => withoutSecrets(line, secrets));
  const help = `See tabby-load ${form === 'bench' ? 'bench serve ' : command === 'run' ? '' : `${command} `}--help.`;
  if (lines.length === 1) return usageError(lines[0]!, help);
  return usageError(
    `${lines.length} mistakes in the command line:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    help,
  );
}
