/**
 * Ctrl-C before the load has begun: nothing was measured, so there is nothing to report; one line says so, and the exit code is that of an
 * interrupt. Once the load runs, `run-ending.ts` takes over.
 */
import { AppError, EXIT } from '../errors.ts';

/** Watches for signals until `close` is called. */
export class SetupSignals {
  /** Rejects at the first signal; never resolves. */
  readonly interrupted: Promise<never>;

  private reject: (error: Error) => void = () => undefined;
  private readonly onInt = (): void => this.reject(interruptedBy('SIGINT'));
  private readonly onTerm = (): void => this.reject(interruptedBy('SIGTERM'));

  constructor() {
    this.interrupted = new Promise((_, reject) => {
      this.reject = reject;
    });
    process.on('SIGINT', this.onInt);
    process.on('SIGTERM', this.onTerm);
  }

  close(): void {
    process.off('SIGINT', this.onInt);
    process.off('SIGTERM', this.onTerm);
  }
}

function interruptedBy(name: 'SIGINT' | 'SIGTERM'): AppError {
  const code = name === 'SIGINT' ? EXIT.sigint : EXIT.sigterm;
  return new AppError(code, `${name} before the load began: nothing was measured`);
}
