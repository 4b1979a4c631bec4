#!/usr/bin/env node
/**
 * The program: reads the command line, hands over to a command, prints what went wrong, sets the exit code. Commands are loaded
 * when they are needed, so that `--help` loads neither the HTTP client nor the thread pool.
 */
import { VERSION } from './commands/version.ts';
import { AppError, codeOf, EXIT, type ExitCode, messageOf } from './errors.ts';
import { parseCommandLine } from './options/parse.ts';
import { printable, printErr, printErrSync, printOut } from './report/terminal.ts';

async function main(argv: readonly string[]): Promise<ExitCode> {
  const line = await parseCommandLine(argv, process.env, helpWidth());
  switch (line.command) {
    case 'help':
      if (line.asked) printOut(line.text);
      else printErr(line.text);
      return line.asked ? EXIT.ok : EXIT.usage;
    case 'version':
      printOut(`tabby-load ${VERSION}`);
      return EXIT.ok;
    case 'run':
      isRun = true;
      return (await import('./commands/run.ts')).runCommand(line.options);
    case 'sweep':
      isRun = true;
      return (await import('./commands/sweep.ts')).sweepCommand(line.options);
    case 'report':
      return (await import('./commands/report.ts')).reportCommand(line.options);
    case 'compare':
      return (await import('./commands/compare.ts')).compareCommand(line.options);
    case 'samples':
      return (await import('./commands/samples.ts')).samplesCommand(line.options);
    case 'mock':
      return (await import('./commands/mock.ts')).mockCommand(line.options);
    case 'overhead':
      return (await import('./commands/overhead.ts')).overheadCommand(line.options);
  }
}

/** Columns for the help text: the terminal's, else 100. */
function helpWidth(): number {
  return process.stdout.isTTY === true ? process.stdout.columns : 100;
}

/**
 * Says what went wrong in one line on stderr (an AppError may list several mistakes) and returns the exit code. An error that was
 * not foreseen is a bug of ours; its stack is shown with TABBY_LOAD_DEBUG=1 only.
 */
function explain(error: unknown): ExitCode {
  if (process.env['TABBY_LOAD_DEBUG'] === '1' && error instanceof Error) printErrSync(error.stack ?? '');
  if (error instanceof AppError) {
    printErrSync(`tabby-load: error: ${error.message.split('\n').map(printable).join('\n')}`);
    if (error.hint !== '') printErrSync(`  ${printable(error.hint)}`);
    return error.exitCode;
  }
  printErrSync(`tabby-load: error: unexpected: ${printable(messageOf(error))}`);
  printErrSync(
    '  This is a bug in tabby-load; please report it with the output of the same command under TABBY_LOAD_DEBUG=1.',
  );
  return EXIT.bug;
}

/** What became of stdout: a report that cannot be written anywhere is a failure, one that nobody wanted to read to its end is none. */
let stdoutCode: ExitCode = EXIT.ok;

/**
 * Trouble with what is printed never ends a run: files are still to be written. A reader that left (`| head`) is no mistake of anyone;
 * a full disk under a redirected stdout is told once. About stderr nothing can be told.
 */
function watchOutput(): void {
  process.stderr.on('error', () => undefined);
  let isTold = false;
  process.stdout.on('error', (error) => {
    if (codeOf(error) === 'ERR_STREAM_DESTROYED' || isTold) return;
    isTold = true;
    if (codeOf(error) === 'EPIPE') {
      if (isRun) printErrSync('tabby-load: note: stdout was closed; the rest of the report is in the files only');
      return;
    }
    stdoutCode = EXIT.usage;
    printErrSync(`tabby-load: error: stdout cannot be written: ${printable(messageOf(error))}`);
  });
}

/** Is something measured, whose loss is worth a word? */
let isRun = false;

watchOutput();
process.on('uncaughtException', (error) => process.exit(explain(error)));
process.on('unhandledRejection', (error) => process.exit(explain(error)));
const code = await main(process.argv.slice(2)).catch(explain);
// Left-over connections and timers must not keep a finished program alive; what was printed is handed over first.
// A write that failed says so a turn later than its callback.
process.stdout.write('', () => setImmediate(() => process.exit(code === EXIT.ok ? stdoutCode : code)));
