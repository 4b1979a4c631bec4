/**
 * `npm run soak -- [--requests 100000] [--tokens 5] [--concurrency 64] [--workers 2] [--limit 30]`: a long run of the built program against
 * the built-in server on loopback, and what it must leave behind:
 *
 * - memory that does not grow: of the process, and of each thread's heap, at the start, the middle and the end of the run;
 * - every request at the server once, and in the records once;
 * - figures equal to a naive recount of the records, which shares no code with the program: exactly those that `report` makes, and within
 *   the histograms' three digits those that the run made itself (it keeps only a tenth of the values, so that memory can be flat).
 *
 * Ends after `--limit` minutes whatever happens. Exits with 0 only when all of it holds.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MEMORY_HOOK, memoryRows } from './soak-memory.ts';
import { agreeing, recount } from './soak-recount.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    tokens: { type: 'string', default: '5' },
    concurrency: { type: 'string', default: '64' },
    workers: { type: 'string', default: '2' },
    limit: { type: 'string', default: '30' },
  },
});
const requests = Number(values.requests);
const tokens = Number(values.tokens);
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-soak-'));
const file = (name: string): string => join(dir, name);
const children = new Set<ChildProcess>();
const problems: string[] = [];

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function check(name: string, holds: boolean, detail: string): void {
  print(`${holds ? 'ok    ' : 'FAILED'} ${name}: ${detail}`);
  if (!holds) problems.push(name);
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], ...env },
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

async function outputOf(child: ChildProcess): Promise<{ code: number | null; stdout: string }> {
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout };
}

/** Server's counts; `ids` with the request ids that it saw. */
async function statsOf(url: string, ids = ''): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}/__stats${ids}`)).json()) as Record<string, unknown>;
}

async function soak(): Promise<void> {
  writeFileSync(file('rows.jsonl'), `{"prompt": "Count the sheep, one word for each.", "output_tokens": ${tokens}}\n`);
  writeFileSync(file('memory.cjs'), MEMORY_HOOK);
  const server = start(['mock', '--port', '0', '--ttft', '0', '--itl', '0', '--track-ids']);
  const url = await new Promise<string>((resolve) => {
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const match = /http:\/\/[\d.:]+/.exec(text);
      if (match !== null) resolve(match[0]);
    });
  });
  const count = ['--num-prompts', String(requests), '--custom-output-len', String(tokens), '--exact-length'];
  const run = start(
    [
      ...[
        '--base-url',
        url,
        '--dataset-name',
        'custom',
        '--dataset',
        file('rows.jsonl'),
        ...count,
        '--request-id-prefix',
        'soak-',
      ],
      ...[
        '--concurrency',
        values.concurrency,
        '--workers',
        values.workers,
        '--ui',
        'plain',
        '--quiet',
        '--json',
        file('run.json'),
      ],
      ...[
        '--save-records',
        file('run.msgpack'),
        '--max-exact-values',
        String(Math.max(1000, Math.floor(requests / 10))),
      ],
    ],
    { NODE_OPTIONS: `--require ${file('memory.cjs')}`, SOAK_MEMORY: file('memory.txt') },
  );
  const ticker = setInterval(() => {
    void statsOf(url).then(
      (stats) => print(`       ${String(stats['completed'])} of ${requests} answered`),
      () => undefined,
    );
  }, 20_000);
  const { code } = await outputOf(run);
  clearInterval(ticker);
  check('exit code', code === 0, String(code));

  for (const row of memoryRows(readFileSync(file('memory.txt'), 'utf8'))) check(row.name, row.isFlat, row.detail);

  const own = await recount(file('run.msgpack'));
  const stats = await statsOf(url, '?ids=1');
  const ids = new Set(stats['ids'] as string[]);
  const missing = own.indices.filter((i) => !ids.has(`soak-${i}`)).length;
  check(
    'requests at the server',
    ids.size === requests && stats['repeatedRequestIds'] === 0,
    `${ids.size} ids, ${String(stats['repeatedRequestIds'])} repeated`,
  );
  check(
    'requests in the records',
    own.count === requests && own.distinct === requests,
    `${own.count}, ${own.distinct} different`,
  );
  check('the same in both', missing === 0, `${missing} not seen by the server`);
  check('all well', own.completed === requests, `${own.completed} of ${requests}`);
  check(
    'tokens',
    own.outputTokens === stats['tokensMade'],
    `${own.outputTokens} told, ${String(stats['tokensMade'])} made`,
  );

  const result = JSON.parse(readFileSync(file('run.json'), 'utf8')) as Record<string, unknown>;
  const report = await outputOf(start(['report', file('run.msgpack'), '--json', '-']));
  const exact = JSON.parse(report.stdout) as Record<string, unknown>;
  for (const [name, figures, tolerance] of [
    ['the run itself', result, 2e-3],
    ['report', exact, 1e-9],
  ] as const) {
    const { differing, compared } = agreeing(own.figures, figures, tolerance);
    check(
      `figures of ${name} against the recount`,
      differing.length === 0 && compared > 15,
      `${compared} compared${differing.map((each) => `; ${each}`).join('')}`,
    );
  }
  server.kill('SIGTERM');
  await once(server, 'close');
}

const limit = setTimeout(() => {
  print(`FAILED not done within ${values.limit} minutes`);
  for (const child of children) child.kill('SIGKILL');
  process.exit(1);
}, Number(values.limit) * 60_000);
print(
  `${requests} requests of ${tokens} tokens (${requests * tokens} events), ${values.concurrency} at once, ${values.workers} workers`,
);
try {
  await soak();
} finally {
  clearTimeout(limit);
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}
print(problems.length === 0 ? 'all of it holds' : `${problems.length} do not hold: ${problems.join(', ')}`);
process.exitCode = problems.length === 0 ? 0 : 1;
