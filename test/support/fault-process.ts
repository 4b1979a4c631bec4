/** What happens to the program itself in mid-run: signals, threads that die, disks that are full, readers that leave. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROGRAM, runCli } from './cli.ts';
import { conditionRow, type FaultRow, type FaultRun, textRow, valueRow } from './fault-rows.ts';
import { startGate } from './gate.ts';
import { SAMPLE } from './play-endings.ts';
import { type RunUnderWay, runFiles, startRun, tally } from './run-files.ts';
import { script } from './script-words.ts';
import { type Script, type ScriptedServer, startScripted } from './scripted-server.ts';
import { TLS_CREDENTIALS } from './tls.ts';

const SLOW = script('head; 5 tokens every 8; finish 5; done; last');
const QUICK = script('head; 3 tokens; finish 3; done; last');
/** Far more than can be answered in the time of a test. */
const MANY = ['--num-prompts', '20000', '--concurrency', '4'];

async function withServer<T>(answers: Script, use: (server: ScriptedServer) => Promise<T>): Promise<T> {
  const server = await startScripted(answers);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Until the server has seen so many requests. */
async function seen(server: ScriptedServer, requests: number, run: RunUnderWay): Promise<void> {
  let isOver = false;
  void run.ended.then(() => {
    isOver = true;
  });
  while (server.requests.length < requests) {
    if (isOver) throw new Error(`ended before ${requests} requests: ${(await run.ended).stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function interrupted(signal: NodeJS.Signals, wantedCode: number): Promise<FaultRow[]> {
  return withServer(SLOW, async (server) => {
    const run = startRun(server.url, [...MANY, '--drain-timeout', '2s']);
    await seen(server, 40, run);
    await run.stop(signal);
    const report = await runCli(['report', run.recordFile, '--json', '-']);
    const { cli, records, end, result } = await run.finish();
    const again = JSON.parse(report.stdout) as { completed: number };
    return [
      valueRow('exit code', cli.code, wantedCode),
      valueRow('all that were begun have ended', tally(records), { success: server.requests.length }),
      valueRow('end of the records', [end?.interrupted, end?.['interrupted_by']], [true, signal]),
      valueRow('result JSON', [result?.tabby_load['interrupted'], result?.completed], [true, records.length]),
      valueRow('report of the records', [report.code, again.completed], [0, records.length]),
      textRow('on the terminal', cli.stderr, /the run was interrupted \(SIG(INT|TERM)\)/),
      textRow('table', cli.stdout, /Successful requests: +\d+/),
    ];
  });
}

/** In flight for ever: the first signal waits for them, the second does not. */
function secondSignal(): Promise<FaultRow[]> {
  return withServer(script('head; 2 tokens; hang'), async (server) => {
    const run = startRun(server.url, [...MANY, '--drain-timeout', 'off']);
    await seen(server, 4, run);
    run.child.kill('SIGINT');
    await run.waitFor(/SIGINT: no more requests; waiting for those in flight \(again to leave at once\)/);
    run.child.kill('SIGINT');
    const { cli, records, result } = await run.finish();
    return [
      valueRow('exit code', cli.code, 130),
      valueRow('in flight: given up', tally(records), { aborted: 4 }),
      valueRow('still reported', result?.failed, 4),
    ];
  });
}

/** Requests that wait for a connection that never opens have no time limit here, and end all the same. */
async function whileConnecting(): Promise<FaultRow[]> {
  const closing = script('head connection: close; 3 tokens; finish 3; done; last; close');
  const server = await startScripted(closing, { tls: TLS_CREDENTIALS });
  const gate = await startGate(() => server.requests.length === 0, server.port);
  try {
    const off = ['--connect-timeout', 'off', '--drain-timeout', 'off', '--insecure'];
    const run = startRun(`https://127.0.0.1:${gate.port}`, ['--num-prompts', '20', '--concurrency', '2', ...off]);
    await seen(server, 2, run);
    await gate.heldBack;
    run.child.kill('SIGINT');
    await run.waitFor(/again to leave at once/);
    run.child.kill('SIGINT');
    const { cli, records } = await run.finish();
    const { aborted = 0, success = 0 } = tally(records);
    return [
      valueRow('exit code', cli.code, 130),
      conditionRow('given up', aborted, '1 or 2', aborted >= 1 && aborted <= 2),
      valueRow('the others', [success, records.length - aborted], [2, 2]),
    ];
  } finally {
    gate.close();
    await server.close();
  }
}

/** More connections than the system allows are refused before the first request. */
function openFiles(): Promise<FaultRow[]> {
  return withServer(QUICK, async (server) => {
    const words = ['--base-url', server.url, '--dataset', SAMPLE, '--num-prompts', '400', '--concurrency', '300'];
    const child = spawn('bash', ['-c', 'ulimit -n 128; exec "$@"', 'bash', process.execPath, PROGRAM, ...words], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'] },
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return [
      textRow('said', stderr, /--concurrency 300 needs 364 open files, but the limit is 128/),
      valueRow('exit code, requests sent', [code, server.requests.length], [2, 0]),
    ];
  });
}

function killed(): Promise<FaultRow[]> {
  return withServer(SLOW, async (server) => {
    const run = startRun(server.url, MANY);
    await seen(server, 80, run);
    await run.stop('SIGKILL');
    const report = await runCli(['report', run.recordFile]);
    const { records, header, end } = await run.finish();
    return [
      conditionRow('records', records.length, 'all but the last fractions of a second', records.length >= 30),
      valueRow('planned', header?.planned, 20000),
      valueRow('no end', end, undefined),
      valueRow('report', report.code, 0),
      textRow('says how many are missing', report.stderr, /was killed\): 19,9\d\d of 20,000 requests are missing/),
    ];
  });
}

function duration(): Promise<FaultRow[]> {
  return withServer(SLOW, async (server) => {
    const { cli, records, end } = await runFiles(server.url, [...MANY, '--duration', '400ms']);
    return [
      valueRow('exit code', cli.code, 0),
      valueRow('an end as planned', end?.interrupted, false),
      valueRow('all that were begun have ended', tally(records), { success: server.requests.length }),
    ];
  });
}

const DEATHS = [
  ['throw 0 20', /worker 0: ordered to die/],
  ['exit 1 20', /worker 1: worker exited with code: 3/],
  ['heap 0 20', /worker 0: .*out of memory/],
] as const;

async function deaths(): Promise<FaultRow[]> {
  const rows = await Promise.all([...DEATHS.map(([how, wanted]) => death(how, wanted)), allDie()]);
  return rows.flat();
}

/** One worker of two dies, and costs what it had in flight. */
function death(how: string, wanted: RegExp): Promise<FaultRow[]> {
  return withServer(QUICK, async (server) => {
    const { cli, records, end, result } = await runFiles(
      server.url,
      ['--num-prompts', '200', '--concurrency', '8', '--workers', '2'],
      { env: { TABBY_LOAD_TEST_WORKER_DEATH: how, NODE_OPTIONS: '--max-old-space-size=64' } },
    );
    const { worker_lost: lost = 0, success = 0 } = tally(records);
    const ids = server.requests.map(({ headers }) => headers['x-request-id']);
    return [
      textRow(how, String(end?.['lost_workers']), wanted),
      conditionRow(`${how}: lost`, lost, 'what it had in flight, 4 at most', lost <= 4),
      valueRow(`${how}: the rest`, [success + lost, new Set(records.map(({ i }) => i)).size], [200, 200]),
      valueRow(`${how}: nothing sent twice`, ids.length, new Set(ids).size),
      valueRow(`${how}: in the report`, [cli.code, result?.failed], [0, lost]),
    ];
  });
}

/** Whatever kills every worker is not tried for ever. */
function allDie(): Promise<FaultRow[]> {
  return withServer(QUICK, async (server) => {
    const { cli, records, result } = await runFiles(
      server.url,
      ['--num-prompts', '2000', '--concurrency', '4', '--workers', '2'],
      { env: { TABBY_LOAD_TEST_WORKER_DEATH: 'throw all 10' } },
    );
    return [
      valueRow('every worker dies: exit code', cli.code, 1),
      conditionRow(
        'every worker dies: records',
        records.length,
        '20 to 400',
        records.length >= 20 && records.length < 400,
      ),
      valueRow('every worker dies: reported', (result?.completed ?? 0) + (result?.failed ?? 0), records.length),
      textRow('every worker dies: told', cli.stderr, /its slots are gone/),
    ];
  });
}

async function fullDisk(): Promise<FaultRow[]> {
  const few = ['--dataset', SAMPLE, '--num-prompts', '20', '--concurrency', '4', '--ui', 'none'];
  return withServer(QUICK, async ({ url }) => {
    const [records, json, stdout, closed] = await Promise.all([
      runCli(['--base-url', url, ...few, '--save-records', '/dev/full']),
      runFiles(url, ['--num-prompts', '20', '--save-hdr', '/dev/full']),
      redirected(url, '/dev/full', few),
      redirected(url, 'closed', few),
    ]);
    return [
      textRow(
        'records on a full disk',
        records.stderr,
        /\/dev\/full could not be written on .*ENOSPC.*The run goes on/,
      ),
      textRow('and the report is there', records.stdout, /Successful requests: +20 /),
      valueRow('exit code', records.code, 2),
      textRow('histograms on a full disk', json.cli.stderr, /error: --save-hdr: \/dev\/full cannot be written: ENOSPC/),
      valueRow('the other files are there', [json.cli.code, json.records.length, json.result?.completed], [2, 20, 20]),
      textRow('stdout on a full disk', stdout.stderr, /error: stdout cannot be written: ENOSPC/),
      valueRow('exit code, result file', [stdout.code, stdout.completed], [2, 20]),
      textRow('stdout closed', closed.stderr, /note: stdout was closed/),
      valueRow('exit code, result file', [closed.code, closed.completed], [0, 20]),
    ];
  });
}

/** How the program went behind a shell's redirection, and what its result file says. */
interface Redirected {
  readonly code: number | null;
  readonly stderr: string;
  readonly completed: number;
}

/** A run whose stdout is this file, or `closed`: a pipe that nobody reads any more. */
function redirected(url: string, where: string, words: readonly string[]): Promise<Redirected> {
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-redirected-'));
  const file = join(dir, 'r.json');
  // In bash the status of a pipe is that of its last command, unless it is told otherwise.
  const line = where === 'closed' ? 'set -o pipefail; "$@" | true' : `"$@" > ${where}`;
  const command = [process.execPath, PROGRAM, '--base-url', url, ...words, '--json', file];
  return new Promise((resolve) => {
    const child = spawn('bash', ['-c', line, 'bash', ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'] },
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('close', (code) => {
      const { completed } = JSON.parse(readFileSync(file, 'utf8')) as { completed: number };
      rmSync(dir, { recursive: true, force: true });
      resolve({ code, stderr, completed });
    });
  });
}

/** All of them. */
export const PROCESS_RUNS: readonly FaultRun[] = [
  { title: 'SIGINT', run: () => interrupted('SIGINT', 130) },
  { title: 'SIGTERM', run: () => interrupted('SIGTERM', 143) },
  { title: 'SIGINT twice', run: secondSignal },
  { title: 'SIGINT twice, while connections do not open', run: whileConnecting },
  { title: 'SIGKILL', run: killed },
  { title: 'open files', run: openFiles },
  { title: '--duration', run: duration },
  { title: 'worker threads that die', run: deaths },
  { title: 'full disks and closed pipes', run: fullDisk },
];
