import type { Ending, LoggedMessage, SharedFields } from '../../logged-message.ts';
import type { GroupFields, NewMessage } from '../../message.ts';

type Content = Pick<NewMessage, 'id' | 'correlationId' | 'traceparent' | 'group' | 'thread'>;

/**
 * A message in the memtable. Thousands of entries live for a while, and the garbage collector copies each of them. So an entry is small,
 * and drops its body when it is settled.
 */
export class MemtableEntry implements LoggedMessage {
  readonly seq: number;
  readonly shared: SharedFields;
  readonly id: string;
  readonly correlationId: string | undefined;
  readonly traceparent: string | undefined;
  readonly group: GroupFields | undefined;
  readonly thread: string | undefined;
  readonly size: number;
  /** The bytes of its body in the commit log, where the body stays after the message was settled. */
  readonly loggedBytes: number;
  body: string | undefined;
  attempts = 0;
  answered = false;
  takers: readonly string[] | undefined = undefined;
  ending: Ending | undefined = undefined;
  /** An older entry of the same id in the same inbox. */
  sameId: MemtableEntry | undefined = undefined;

  constructor(seq: number, shared: SharedFields, content: Content, size: number, body: string | undefined) {
    this.seq = seq;
    this.shared = shared;
    this.id = content.id;
    this.correlationId = content.correlationId;
    this.traceparent = content.traceparent;
    this.group = content.group;
    this.thread = content.thread;
    this.size = size;
    this.body = body;
    this.loggedBytes = body === undefined ? 0 : size;
  }
}
