/** One server-sent event. */
export interface SentEvent {
  name: string;
  data: string;
  id?: string;
}

/** Reads a stream of server-sent events. A part of an event at the end waits for its rest. */
export class SentEventReader {
  #rest = '';

  /** Takes a piece of the stream. Returns the events that are complete now. */
  read(piece: string): SentEvent[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

function eventOf(block: string): SentEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).trimStart());
  }
  const [name, data, id] = [fields.get('event'), fields.get('data'), fields.get('id')];
  return name === undefined || data === undefined
    ? undefined
    : { name, data, ...(id !== undefined && { id }) };
}
