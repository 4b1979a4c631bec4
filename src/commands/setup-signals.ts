/**
 * Ctrl-C before the load has begun: nothing was measured, so there is nothing to report; one line says so, files that were only opened are
 * put back as they were, and the exit code is that of an interrupt. Once the load runs, `run-ending.ts` takes over.
 */
import { EXIT } from '../errors.ts';
import { printErrSync } from '../report/terminal.ts';
import type { Outputs } from './run-outputs.ts';

/** Waits for files to be closed for so long. */
const LEAVE_MS = 500;

/** Watches for signals until `close` is called. */
export class SetupSignals {
  private readonly outputs: Outputs;
  private readonly onInt = (): void => this.leave('SIGINT', EXIT.sigint);
  private readonly onTerm = (): void => this.leave('SIGTERM', EXIT.sigterm);

  constructor(outputs: Outputs) {
    this.outputs = outputs;
    process.on('SIGINT', this.onInt);
    process.on('SIGTERM', this.onTerm);
  }

  close(): void {
    process.off('SIGINT', this.onInt);
    process.off('SIGTERM', this.onTerm);
  }

  private leave(name: string, code: number): void {
    this.close();
    printErrSync(`tabby-load: ${name} before the load began: nothing was measured`);
    const leave = (): never => process.exit(code);
    setTimeout(leave, LEAVE_MS);
    this.outputs.abandon().then(leave, leave);
  }
}
