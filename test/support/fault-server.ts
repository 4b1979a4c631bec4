/** What happens to the server in mid-run: it stops, restarts, loses its model, fails more and more. */
import { conditionRow, type FaultRow, type FaultRun, textRow, valueRow } from './fault-rows.ts';
import { startGate } from './gate.ts';
import { type RunFiles, runFiles, tally } from './run-files.ts';
import { script } from './script-words.ts';
import { type Reply, type Script, type ScriptedServer, startScripted } from './scripted-server.ts';
import { TLS_CREDENTIALS } from './tls.ts';

const WHOLE = script('head; 3 tokens every 10; finish 3; done; last');
const HANG = script('head; 3 tokens; forever 50: : ping\\r\\n\\r\\n');
const NO_MODEL = script('status 503 Service Unavailable: {"detail": "No models are currently loaded."}');
const AWAY_MS = 600;

/** The request whose arrival begins the trouble. */
const TROUBLE = 12;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function withScript<T>(
  answer: (server: ScriptedServer) => Script,
  use: (server: ScriptedServer) => Promise<T>,
  model?: () => string | null,
): Promise<T> {
  let answers: Script = WHOLE;
  const server = await startScripted((reply, request) => answers(reply, request), model === undefined ? {} : { model });
  answers = answer(server);
  try {
    return await use(server);
  } finally {
    await server.close().catch(() => undefined);
  }
}

const SHORT = ['--num-prompts', '60', '--concurrency', '4'];

/** Every planned request has exactly one record. */
function allThere({ records, end }: RunFiles): FaultRow {
  const indices = new Set(records.map(({ i }) => i));
  return valueRow('one record for each request', [records.length, indices.size, end?.['recorded']], [60, 60, 60]);
}

async function stopped(): Promise<FaultRow[]> {
  const answer =
    (server: ScriptedServer): Script =>
    async (reply, request) => {
      if (request.n === TROUBLE) await server.stop();
      else await WHOLE(reply, request);
    };
  const run = await withScript(answer, ({ url }) => runFiles(url, SHORT));
  const counts = tally(run.records);
  return [
    allThere(run),
    conditionRow('the others are refused', counts, 'connect', (counts['connect'] ?? 0) >= 60 - TROUBLE - 8),
    conditionRow('in flight: broken', counts, '1 to 4', (counts['reset'] ?? 0) + (counts['truncated'] ?? 0) <= 4),
    textRow('words', run.cli.stdout, /connect, \d+ times: cannot connect to .*ECONNREFUSED/),
    valueRow('exit code (some succeeded)', run.cli.code, 0),
  ];
}

/** After one failed generation TabbyAPI calls itself unhealthy until it is restarted, and serves on: it is not asked. */
async function unhealthy(): Promise<FaultRow[]> {
  return withScript(
    () => WHOLE,
    async (server) => {
      const run = await runFiles(server.url, SHORT);
      return [
        valueRow(
          'no question about health',
          server.questions.filter((path) => path.includes('health')),
          [],
        ),
        valueRow('kinds', tally(run.records), { success: 60 }),
      ];
    },
  );
}

async function restarted(): Promise<FaultRow[]> {
  const answer =
    (server: ScriptedServer): Script =>
    async (reply, request) => {
      if (request.n !== TROUBLE) return WHOLE(reply, request);
      await server.stop();
      await sleep(AWAY_MS);
      await server.listenAgain();
    };
  const run = await withScript(answer, ({ url }) => runFiles(url, [...SHORT, '--reconnect-wait', '20s']));
  const failed = run.records.filter(({ success }) => !success);
  const outages = run.end?.['outages'] as { lasted_s: number; came_back: boolean; failed: number }[] | undefined;
  return [
    allThere(run),
    // What was under way, and perhaps one more each before the absence was seen.
    conditionRow('lost with it', tally(run.records), '1 to 8 failures', failed.length >= 1 && failed.length <= 8),
    valueRow(
      'outages',
      outages?.map(({ came_back }) => came_back),
      [true],
    ),
    conditionRow(
      'it lasted',
      outages?.[0]?.lasted_s,
      `at least ${AWAY_MS / 1000 - 0.2}`,
      (outages?.[0]?.lasted_s ?? 0) >= AWAY_MS / 1000 - 0.2,
    ),
    valueRow('failures told with it', outages?.[0]?.failed, failed.length),
    textRow('gone', run.cli.stderr, /the server went away: .*; waiting up to 20 s for it/),
    textRow('back', run.cli.stderr, /the server is back after [\d.]+ s; \d+ requests? failed meanwhile; going on/),
    textRow('in the report', run.cli.stderr, /warning: the server was away once/),
    valueRow('exit code', run.cli.code, 0),
  ];
}

async function unloaded(): Promise<FaultRow[]> {
  let isLoaded = true;
  const answer = (): Script => async (reply: Reply, request) => {
    if (request.n === TROUBLE) {
      isLoaded = false;
      setTimeout(() => {
        isLoaded = true;
      }, AWAY_MS);
      return HANG(reply, request);
    }
    return isLoaded ? WHOLE(reply, request) : NO_MODEL(reply, request);
  };
  const run = await withScript(
    answer,
    ({ url }) => runFiles(url, [...SHORT, '--reconnect-wait', '20s', '--token-timeout', '30s']),
    () => (isLoaded ? 'Scripted' : null),
  );
  const counts = tally(run.records);
  const victim = run.records.find(({ error_kind: kind }) => kind === 'timeout_idle');
  return [
    allThere(run),
    // Its token limit is 30 s: it is given up because the server was seen without a model.
    textRow(
      'the stream that was under way',
      victim?.error ?? '',
      /the server lost its model; no token since, after 3 token frames/,
    ),
    conditionRow(
      'refused meanwhile',
      counts,
      '1 to 8 of kind http',
      (counts['http'] ?? 0) >= 1 && (counts['http'] ?? 0) <= 8,
    ),
    conditionRow('the rest', counts, 'successes', (counts['success'] ?? 0) >= 60 - 9),
    textRow('gone', run.cli.stderr, /the server went away: .*No models are currently loaded/),
    valueRow('exit code', run.cli.code, 0),
  ];
}

async function neverBack(): Promise<FaultRow[]> {
  const answer =
    (server: ScriptedServer): Script =>
    async (reply, request) => {
      if (request.n === TROUBLE) await server.stop();
      else await WHOLE(reply, request);
    };
  const run = await withScript(answer, ({ url }) => runFiles(url, [...SHORT, '--reconnect-wait', '400ms']));
  return [
    conditionRow(
      'not burnt on a server that is gone',
      run.records.length,
      'at most 20 requests',
      run.records.length <= TROUBLE + 8,
    ),
    valueRow(
      'the report has what there was',
      [run.result?.completed, run.result?.failed],
      [tally(run.records)['success'], run.records.filter(({ success }) => !success).length],
    ),
    valueRow('interrupted by', run.end?.['interrupted_by'], 'the server went away'),
    textRow('told', run.cli.stderr, /the server did not come back within [\d.]+ s: no more requests/),
    valueRow('exit code', run.cli.code, 4),
  ];
}

/** Half of the requests fail. */
const HALF: Script = (reply, request) =>
  request.n % 2 === 0 ? WHOLE(reply, request) : script('status 500 Internal Server Error: no')(reply, request);

async function limits(): Promise<FaultRow[]> {
  const many = ['--num-prompts', '3000', '--concurrency', '2'];
  const [errors, rate, within] = await Promise.all([
    withScript(
      () => HALF,
      ({ url }) => runFiles(url, [...many, '--max-errors', '10']),
    ),
    withScript(
      () => HALF,
      ({ url }) => runFiles(url, [...many, '--max-error-rate', '10%']),
    ),
    withScript(
      () => HALF,
      ({ url }) => runFiles(url, ['--num-prompts', '100', '--concurrency', '4', '--max-error-rate', '60%']),
    ),
  ]);
  return [
    conditionRow(
      '--max-errors 10: failures',
      tally(errors.records),
      '10, and what was under way',
      [10, 11].includes(tally(errors.records)['http'] ?? 0),
    ),
    valueRow('interrupted by', errors.end?.['interrupted_by'], '--max-errors 10'),
    valueRow(
      'exit code, with a report',
      [errors.cli.code, errors.result?.completed],
      [5, tally(errors.records)['success']],
    ),
    conditionRow(
      '--max-error-rate 10%: requests',
      rate.records.length,
      '20 to 400',
      rate.records.length >= 20 && rate.records.length < 400,
    ),
    valueRow('interrupted by', rate.end?.['interrupted_by'], '--max-error-rate 10%'),
    textRow('told', rate.cli.stderr, /\d+ of \d+ requests failed \(--max-error-rate 10%\): no more are started/),
    valueRow('exit code', rate.cli.code, 5),
    valueRow(
      '--max-error-rate 60% is not reached',
      [within.records.length, within.cli.code, within.end?.interrupted],
      [100, 0, false],
    ),
  ];
}

/** A proxy whose tunnels no longer come once the load has had its first answer. */
async function connectTimeout(): Promise<FaultRow[]> {
  const closing = script('head connection: close; 3 tokens; finish 3; done; last; close');
  const server = await startScripted(closing, { tls: TLS_CREDENTIALS });
  const established = 'HTTP/1.1 200 Connection established\r\n\r\n';
  const gate = await startGate(() => server.requests.length === 0, server.port, established);
  const proxy = ['--proxy', `http://127.0.0.1:${gate.port}`, '--insecure'];
  try {
    const few = ['--num-prompts', '3', '--concurrency', '1', '--connect-timeout', '300ms'];
    const run = await runFiles(server.url, [...few, ...proxy]);
    const late = run.records.find(({ success }) => !success);
    return [
      valueRow('kinds', tally(run.records), { success: 1, timeout_connect: 2 }),
      textRow('words', late?.error ?? run.cli.stderr, /through the proxy .*no connection within 0\.3 s/),
    ];
  } finally {
    gate.close();
    await server.close();
  }
}

/** A server that closes each connection a few ms after an answer, without a word, as one with a very short idle time does. */
function idleCloser(): Promise<FaultRow[]> {
  const quick = script('head; 3 tokens; finish 3; done; last');
  const answer: Script = async (reply, request) => {
    await quick(reply, request);
    setTimeout(() => reply.close(), 5);
  };
  return withScript(
    () => answer,
    async ({ url }) => {
      const { records, result } = await runFiles(url, ['--num-prompts', '100', '--concurrency', '8']);
      const stale = result?.tabby_load.connections.stale_reconnects ?? 0;
      return [
        valueRow('no request fails', tally(records), { success: 100 }),
        conditionRow('stale_reconnects', stale, 'more than 0', stale > 0),
        valueRow('told of each', records.filter(({ stale_reconnect: is }) => is === true).length, stale),
      ];
    },
  );
}

/** All of them. */
export const SERVER_RUNS: readonly FaultRun[] = [
  { title: 'a server that calls itself unhealthy', run: unhealthy },
  { title: 'the server stops in mid-run', run: stopped },
  { title: 'the server restarts in mid-run, --reconnect-wait', run: restarted },
  { title: 'the model is unloaded in mid-run, --reconnect-wait', run: unloaded },
  { title: 'the server does not come back, --reconnect-wait', run: neverBack },
  { title: 'limits on failures', run: limits },
  { title: 'a connection that does not open in mid-run', run: connectTimeout },
  { title: 'a server that closes idle connections', run: idleCloser },
];
