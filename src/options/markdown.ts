/** The options section of the README, made from the table. `scripts/readme-options.mjs` puts it in place; a check compares. */
import { defaultText } from './help.ts';
import { type CommandName, GROUPS, type GroupId, type OptionSpec } from './spec.ts';
import { NOT_HERE, OPTIONS } from './table.ts';

/** Markdown of all options: a table per group, then what is refused and why. */
export function optionsMarkdown(): string {
  const parts: string[] = [];
  for (const group of Object.keys(GROUPS) as GroupId[]) {
    const rows = Object.entries(OPTIONS).filter(([, spec]) => spec.group === group && spec.refused === undefined);
    if (rows.length === 0) continue;
    parts.push(`### ${GROUPS[group]}`, '', '| Option | Default | Commands | Meaning |', '| --- | --- | --- | --- |');
    parts.push(...rows.map(([name, spec]) => row(name, spec)), '');
  }
  parts.push(
    '### Known, but not there',
    '',
    'Each is refused with this reason.',
    '',
    '| Option | Reason |',
    '| --- | --- |',
  );
  for (const [name, spec] of Object.entries(OPTIONS)) {
    if (spec.refused !== undefined) parts.push(`| \`--${name}\` | ${cell(spec.refused)} |`);
    for (const [choice, reason] of Object.entries(spec.refusedChoices ?? {})) {
      parts.push(`| \`--${name} ${choice}\` | ${cell(reason)} |`);
    }
  }
  for (const [name, reason] of Object.entries(NOT_HERE)) {
    parts.push(`| \`--${name}\` (vLLM's Rust client) | ${cell(reason)} |`);
  }
  return `${parts.join('\n')}\n`;
}

function row(name: string, spec: OptionSpec): string {
  const names = [name, ...(spec.aliases ?? []), ...(spec.negatable === true ? [`no-${name}`] : [])];
  const value = spec.metavar === undefined ? '' : ` ${spec.metavar}`;
  const first = spec.commands[0]!;
  const ours = defaultText(spec, first);
  const vllm = spec.commands.includes('run') ? defaultText(spec, 'bench') : ours;
  const both = ours === vllm || (spec.defaultText !== undefined && ours === spec.defaultText);
  const shown = both ? ours : `${ours}; bench serve: ${vllm}`;
  const facts = [
    ...(spec.unit === undefined ? [] : [`In ${spec.unit}.`]),
    ...(spec.choices === undefined ? [] : [`One of ${served(spec).join(', ')}.`]),
    ...(spec.env === undefined ? [] : [`Environment: ${spec.env.join(', ')}.`]),
    ...(spec.helpFor?.mock === undefined ? [] : [`\`mock\`: ${spec.helpFor.mock}`]),
  ];
  const meaning = [spec.help, ...facts].filter((text) => text !== '').join(' ');
  const signature = `\`${names.map((each) => `--${each}`).join('`, `')}${value}\``;
  return `| ${cell(signature)} | ${cell(shown)} | ${commandWords(spec.commands)} | ${cell(meaning)} |`;
}

function served(spec: OptionSpec): string[] {
  return (spec.choices ?? []).filter((choice) => !Object.hasOwn(spec.refusedChoices ?? {}, choice));
}

function commandWords(commands: readonly CommandName[]): string {
  return commands.join(', ');
}

/** A text inside a table cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
