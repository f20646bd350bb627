import { LinePrefix } from './line-prefix.ts';
import type { OutputSink } from './output-sink.ts';

/** Where an agent's output goes. A prefix marks each line, for when several agents write to the same place. */
export interface AgentOutput {
  stdout: OutputSink;
  stderr: OutputSink;
  prefix?: string;
}

/** The way of one stream of one process. */
export interface OutputLane {
  write(chunk: Buffer): Promise<void>;
  /** After the last piece. */
  end(): Promise<void>;
}

export function outputLane(sink: OutputSink, prefix: string | undefined): OutputLane {
  if (prefix === undefined) return { write: (chunk) => sink.write(chunk), end: async () => {} };
  const lines = new LinePrefix(prefix);
  return { write: (chunk) => sink.write(lines.apply(chunk)), end: () => sink.write(lines.end()) };
}
