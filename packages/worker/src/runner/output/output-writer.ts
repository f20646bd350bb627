import { LinePrefix } from './line-prefix.ts';
import type { OutputSink } from './output-sink.ts';

/** The sinks of an agent's output. A prefix marks each line if several agents write to the same sink. */
export interface AgentOutput {
  stdout: OutputSink;
  stderr: OutputSink;
  prefix?: string;
}

/** Passes one output stream of one process on to its sink. */
export interface OutputWriter {
  write(chunk: Buffer): Promise<void>;
  /** Ends an unfinished last line. */
  end(): Promise<void>;
}

/** Makes a writer that puts `prefix`, if there is one, before each line. */
export function outputWriter(sink: OutputSink, prefix: string | undefined): OutputWriter {
  if (prefix === undefined) return { write: (chunk) => sink.write(chunk), end: async () => {} };
  const lines = new LinePrefix(prefix);
  return { write: (chunk) => sink.write(lines.apply(chunk)), end: () => sink.write(lines.end()) };
}
