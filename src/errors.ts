/**
 * Exit codes of the program (README "Exit codes"; a test compares the two).
 * 0 done · 1 a bug of ours · 2 wrong options or input · 3 not the server that was required · 4 server unreachable, not ready, or gone for
 * good · 5 every request failed, or more than `--max-error-rate` or `--max-errors` · 99 a limit set by the user was missed ·
 * 130/143 interrupted by SIGINT/SIGTERM.
 */
export const EXIT = {
  ok: 0,
  bug: 1,
  usage: 2,
  wrongServer: 3,
  unreachable: 4,
  requestsFailed: 5,
  limitMissed: 99,
  sigint: 130,
  sigterm: 143,
} as const;

/** One of the numbers in {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * An error that was foreseen: it carries the exit code and what the user can do about it. `main.ts` alone prints it, without a
 * stack trace; any other error that reaches `main.ts` is a bug of ours (exit code 1).
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  /** Process exit code. */
  readonly exitCode: ExitCode;
  /** The remedy, as a sentence of its own; empty when the message says it all. */
  readonly hint: string;

  constructor(exitCode: ExitCode, message: string, hint = '', options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** Wrong options or input (exit code 2). `message` names the option, file or line; `hint` says what to do. */
export function usageError(message: string, hint = '', cause?: unknown): AppError {
  return new AppError(EXIT.usage, message, hint, cause === undefined ? undefined : { cause });
}

/** The server cannot be reached or is not ready (exit code 4). */
export function unreachableError(message: string, hint = '', cause?: unknown): AppError {
  return new AppError(EXIT.unreachable, message, hint, cause === undefined ? undefined : { cause });
}

/** The text of anything that was thrown: an Error's message, else its string form. Never a stack trace. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a system error (`ENOENT`, `ECONNREFUSED`, …), or '' when there is none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : '';
}
