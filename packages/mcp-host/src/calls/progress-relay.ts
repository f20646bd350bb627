import type { ResultRedactor } from '../config/server-secrets.ts';
import type { ToolProgress } from '../tool-calls/index.ts';

/** Passes the progress of a call on to its caller until the call ends. */
export class ProgressRelay {
  readonly #onProgress: (progress: ToolProgress) => void;
  #isPending = true;
  /** True if the server reported any progress. */
  sawSome = false;

  /** `redact` removes secrets from each report. */
  constructor(onProgress: (progress: ToolProgress) => void, redact?: ResultRedactor) {
    this.#onProgress = redact ? (progress) => onProgress(redact(progress)) : onProgress;
  }

  /** Passes one report on, unless the call has ended. */
  readonly report = (progress: ToolProgress): void => {
    if (!this.#isPending) return;
    this.sawSome = true;
    this.#onProgress(progress);
  };

  /** Ends the call: later reports are dropped. */
  end(): void {
    this.#isPending = false;
  }
}
