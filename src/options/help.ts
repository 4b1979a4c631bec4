/** `--help`, made from the table: grouped, with defaults and units, wrapped to the width of the terminal. */
import { formatCount, formatDuration, formatShare, formatSize } from '../units.ts';
import { type CommandName, type Form, GROUPS, type GroupId, type OptionSpec } from './spec.ts';
import { defaultOf, optionsOf } from './table.ts';

const COMMANDS: readonly (readonly [string, string])[] = [
  ['run', 'send requests and report what came back; the default command'],
  ['sweep', 'measure at several numbers of streams or rates, and find where the server saturates'],
  ['bench serve', "the same with the flags, names and defaults of vLLM's bench serve"],
  ['report FILE...', 'rebuild the report from files of --save-records'],
  [
    'compare A B...',
    'how results, record files or whole sweeps differ from the first, and whether that is more than chance',
  ],
  ['samples', 'print the manifest of the samples; nothing is sent to a completion endpoint'],
  ['mock', 'a server that speaks as TabbyAPI does, for trying things out'],
  ['overhead', 'measure what this program itself adds to the figures on this machine'],
];

const ABOUT: Readonly<Record<Form, readonly [usage: string, text: string]>> = {
  run: [
    'tabby-load [run] --concurrency N --dataset FILE [options]',
    'Sends the prompts of a data set to an LLM server and reports latencies and throughput. Without further options the server is a TabbyAPI at http://127.0.0.1:5000.',
  ],
  bench: [
    'tabby-load bench serve [options]',
    'Takes the place of "vllm bench serve": same flags, same defaults, same requests, same result file.',
  ],
  sweep: [
    'tabby-load sweep --concurrency 1,2,4,...|auto --dataset FILE [options]',
    'Measures level by level and says where throughput saturates, what bounds it there, and up to which level every --slo is kept. Each level is saved before the next begins. Exit code 99 when no level keeps every --slo. Options of a run hold for each level.',
  ],
  report: [
    'tabby-load report FILE... [options]',
    'Rebuilds every figure from record files; several files are merged. What is not given here is as in the run, by the header of the records; the defaults below are for records without one.',
  ],
  compare: [
    'tabby-load compare A B... [options]',
    "Compares results (vLLM's too), record files or the folders of sweeps with the first of them; where there are values per request, with bootstrap intervals.",
  ],
  samples: [
    'tabby-load samples --dataset FILE [options]',
    'Prints which prompts a run would send: number, hash, prompt length and output length, tab-separated.',
  ],
  mock: [
    'tabby-load mock [options]',
    'Starts a server that speaks as TabbyAPI does on the wire and prints its address.',
  ],
  overhead: [
    'tabby-load overhead [options]',
    'Measures itself: runs against the built-in server, which notes when it wrote each token, and tells how far the figures are off and what an event costs.',
  ],
};

const EXIT_CODES =
  'Exit codes: 0 done; 1 a bug in tabby-load; 2 wrong options or input; 3 not the server that was required; 4 server not reachable or not ready; 5 requests failed (all, or more than --max-error-rate); 99 a limit was missed; 130, 143 interrupted.';

/** A value as the user would write it. */
export function formatValue(value: unknown, spec: OptionSpec): string {
  if (value === null) return spec.type === 'duration' ? 'off' : 'none';
  if (spec.type === 'duration') return formatDuration(value as number);
  if (spec.type === 'size') return formatSize(value as number);
  if (spec.type === 'count') return formatCount(value as number);
  if (spec.type === 'share') return formatShare(value as number);
  if (value === Number.POSITIVE_INFINITY) return 'inf';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The default of an option in words, or '' when there is nothing to say (a flag that is off). */
export function defaultText(spec: OptionSpec, form: Form): string {
  const value = defaultOf(spec, form);
  // A text that explains an unset value says nothing where there is a value.
  const plain = value === null || value === undefined || typeof value === 'object';
  if (spec.defaultText !== undefined && plain) return spec.defaultText;
  if (spec.type === 'boolean') return value === true ? 'on' : '';
  if (value === null) return spec.type === 'duration' ? 'off' : '';
  return formatValue(value, spec);
}

/** Help text of an option with its unit, choices and default. */
export function describe(spec: OptionSpec, form: Form): string {
  const facts: string[] = [];
  if (spec.unit !== undefined) facts.push(`in ${spec.unit}`);
  if (spec.type === 'duration') facts.push(`${spec.bareUnit ?? 's'} unless a unit is given`);
  const served = (spec.choices ?? []).filter((choice) => !Object.hasOwn(spec.refusedChoices ?? {}, choice));
  if (served.length > 0) facts.push(served.join(' | '));
  const text = defaultText(spec, form);
  if (text !== '') facts.push(`default: ${text}`);
  if (spec.env !== undefined && form !== 'mock') facts.push(`environment: ${spec.env.join(', ')}`);
  return `${spec.helpFor?.[form] ?? spec.help}${facts.length > 0 ? ` [${facts.join('; ')}]` : ''}`.trim();
}

/** An option with its aliases and placeholder: `--max-concurrency, --concurrency N`. */
export function signature(name: string, spec: OptionSpec): string {
  const names = [name, ...(spec.aliases ?? [])].map((each) => `--${each}`);
  if (spec.negatable === true) names.push(`--no-${name}`);
  return `${names.join(', ')}${spec.metavar === undefined ? '' : ` ${spec.metavar}`}`;
}

/** Full help of a form; with `word` only the groups and options that it names. Returns lines without a final line break. */
export function helpText(form: Form, width: number, word = ''): string {
  const command: CommandName = form === 'bench' ? 'run' : form;
  const columns = Math.max(40, Math.min(width, 120));
  const lines = word === '' ? opening(form, columns) : [];
  const wanted = word.toLowerCase().replaceAll('_', '-').replace(/^-+/, '');
  for (const group of Object.keys(GROUPS) as GroupId[]) {
    const title = GROUPS[group];
    const rows = optionsOf(command).filter(
      ([name, spec]) =>
        spec.group === group &&
        spec.refused === undefined &&
        (wanted === '' ||
          title.toLowerCase().includes(wanted) ||
          [name, ...(spec.aliases ?? [])].some((n) => n.includes(wanted))),
    );
    if (rows.length === 0) continue;
    lines.push(
      '',
      `${title}:`,
      ...rows.flatMap(([name, spec]) => entry(signature(name, spec), describe(spec, form), columns)),
    );
  }
  if (wanted !== '' && lines.length === 0) return `No option has "${word}" in its name. See tabby-load --help.`;
  if (wanted === '') lines.push(...closing(form, columns));
  while (lines[0] === '') lines.shift();
  return lines.join('\n');
}

/** What is printed when nothing was asked for. */
export function shortUsage(): string {
  return [
    'Usage: tabby-load --concurrency N --dataset FILE [options]',
    '',
    'Commands:',
    ...COMMANDS.map(([name, text]) => `  ${name.padEnd(16)}${text}`),
    '',
    'All options: tabby-load --help',
  ].join('\n');
}

function opening(form: Form, columns: number): string[] {
  const [usage, text] = ABOUT[form];
  const lines = [`Usage: ${usage}`, '', ...wrap(text, columns)];
  if (form !== 'run') return lines;
  return [...lines, '', 'Commands:', ...COMMANDS.flatMap(([name, about]) => entry(name, about, columns, 18))];
}

function closing(form: Form, columns: number): string[] {
  const refused = optionsOf(form === 'bench' ? 'run' : form).filter(([, spec]) => spec.refused !== undefined);
  const lines = [
    '',
    'General:',
    ...entry('--config FILE', 'Options from a YAML file of "name: value"; the command line wins.', columns),
    ...entry('--help, -h', 'This text; --help=WORD shows only what has WORD in its name.', columns),
    ...entry('--version', 'The version.', columns),
    '',
  ];
  if (refused.length > 0) {
    const names = refused.map(([name]) => `--${name}`).join(', ');
    lines.push(...wrap(`Known from vLLM but not there (each says why when it is used): ${names}.`, columns), '');
  }
  if (form === 'run') {
    lines.push(
      ...wrap('Names may be written with underscores or dashes and shortened while they stay unique.', columns),
      '',
    );
  }
  return [...lines, ...wrap(EXIT_CODES, columns)];
}

/** One option: name in a left column, text beside it, or below it when the name is long or the terminal narrow. */
function entry(left: string, text: string, columns: number, margin = columns < 80 ? 8 : 32): string[] {
  const pad = ' '.repeat(margin);
  const lines = wrap(text, columns - margin).map((line) => pad + line);
  const head = `  ${left}`;
  if (lines.length > 0 && head.length + 2 <= margin)
    return [head.padEnd(margin) + lines[0]!.slice(margin), ...lines.slice(1)];
  return [head, ...lines];
}

/** Breaks a text at spaces into lines of at most `width` characters; longer words stay whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  if (line !== '') lines.push(line);
  return lines;
}
