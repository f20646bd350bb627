import type { ToolProgress } from '../server-connection.ts';

/** Hands a call's progress on while it is under way. */
export class ProgressRelay {
  readonly #onProgress: (progress: ToolProgress) => void;
  #isPending = true;
  /** Whether the server reported any. */
  sawSome = false;

  constructor(onProgress: (progress: ToolProgress) => void) {
    this.#onProgress = onProgress;
  }

  readonly report = (progress: ToolProgress): void => {
    if (!this.#isPending) return;
    this.sawSome = true;
    this.#onProgress(progress);
  };

  end(): void {
    this.#isPending = false;
  }
}
