/**
 * `npm run faults`: plays every fault to the built program and prints what was expected of it and what it reported. Exits with 0 only when
 * all agree. Words after the command choose the runs whose title holds one of them.
 */
import { printable } from '../../src/report/terminal.ts';
import { CONNECTION_RUNS } from './fault-connections.ts';
import { ENDING_RUNS } from './fault-endings.ts';
import { PROCESS_RUNS } from './fault-process.ts';
import type { FaultRow } from './fault-rows.ts';
import { SERVER_RUNS } from './fault-server.ts';

const words = process.argv.slice(2);
const runs = [...ENDING_RUNS, ...CONNECTION_RUNS, ...SERVER_RUNS, ...PROCESS_RUNS].filter(
  ({ title }) => words.length === 0 || words.some((word) => title.includes(word)),
);

/** On one line, and no longer than fits beside the rest. */
function shown(text: string): string {
  const line = printable(text);
  return line.length > 160 ? `${line.slice(0, 157)}...` : line;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printRow({ name, expected, reported, problems }: FaultRow): void {
  print(`${problems.length === 0 ? 'ok    ' : 'DIFFER'} ${name}`);
  print(`         expected: ${shown(expected)}`);
  print(`         reported: ${shown(reported)}`);
  for (const problem of problems) print(`         differs:  ${shown(problem)}`);
}

let all = 0;
let differing = 0;
for (const { title, run } of runs) {
  print(`\n${title}`);
  const rows = await run();
  for (const row of rows) printRow(row);
  all += rows.length;
  differing += rows.filter(({ problems }) => problems.length > 0).length;
}
print(`\n${all - differing} of ${all} agree${differing === 0 ? '' : `, ${differing} differ`}`);
process.exitCode = differing === 0 && all > 0 ? 0 : 1;
