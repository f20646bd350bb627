/** The `echo` tool behind a connected entry. */
export interface CallableTool extends AsyncDisposable {
  /** Makes a call. `lane` numbers the calls that are made at once. Rejects unless the answer holds the message. */
  call(message: string, lane: number): Promise<void>;
}
