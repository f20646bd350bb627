/** The only error class of Signalbox. Callers branch on `code`, never on `message`. */
export class SignalboxError extends Error {
  override readonly name = 'SignalboxError';
  /** The stable name of the failure, such as `data_directory_locked`. */
  readonly code: string;
  /** True if the same attempt may succeed later. Default: false. */
  readonly retryable: boolean;
  /** The facts that the message states, for programs. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    options: { retryable?: boolean; cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details ?? {};
  }
}

/**
 * Returns the errors behind a thrown value, the first one first. If several steps of a shutdown fail, or the shutdown after a failure
 * fails, JavaScript throws them together as a `SuppressedError`.
 */
export function failuresOf(thrown: unknown): unknown[] {
  if (!(thrown instanceof SuppressedError)) return [thrown];
  return [...failuresOf(thrown.suppressed), ...failuresOf(thrown.error)];
}

/** Returns the message of an error, or any other thrown value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Returns the code of an error of Node.js or of a library, for example `ENOENT`; `undefined` if it has none. */
export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : undefined;
}
