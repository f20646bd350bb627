/** One finished system call of a trace by `strace -f -y`, in the order in which the calls ended. */
export interface SystemCall {
  name: string;
  /** The text between the brackets, as strace wrote it. */
  args: string;
  result: string;
}

const unfinished = /^(\d+)\s+(\w+)\((.*) <unfinished \.\.\.>$/;
const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>(.*)\)\s+= (.*)$/;
const whole = /^(\d+)\s+(\w+)\((.*)\)\s+= (.*)$/;

/** Reads a trace; a call that another thread interrupted stands where it ended. */
export function readTrace(text: string): SystemCall[] {
  const begun = new Map<string, string>();
  const calls: SystemCall[] = [];
  for (const line of text.split('\n')) {
    const start = unfinished.exec(line);
    if (start) {
      begun.set(`${start[1]} ${start[2]}`, start[3]!);
      continue;
    }
    const end = resumed.exec(line);
    if (end) {
      const key = `${end[1]} ${end[2]}`;
      calls.push({ name: end[2]!, args: `${begun.get(key) ?? ''}${end[3]}`, result: end[4]! });
      continue;
    }
    const call = whole.exec(line);
    if (call) calls.push({ name: call[2]!, args: call[3]!, result: call[4]! });
  }
  return calls;
}

const isSync = ({ name, args, result }: SystemCall): boolean =>
  (name === 'fdatasync' || name === 'fsync') && args.includes('messages.db-wal') && result.startsWith('0');
const isLogWrite = ({ name, args }: SystemCall): boolean =>
  name.startsWith('pwrite') && args.includes('messages.db-wal');

/** The steps of a message as positions in the trace; -1 for a step that did not happen. */
export interface ReceiptOrder {
  /** The read of its frame from the socket. */
  read: number;
  /** The last write to the log before the receipt. */
  logged: number;
  /** The first sync of the log after that write that had returned when the receipt was written. */
  synced: number;
  /** The write of the receipt to the socket. */
  receipt: number;
}

/** Finds where the message with this id was read, logged, synced and receipted. */
export function receiptOrder(calls: readonly SystemCall[], id: string): ReceiptOrder {
  const receipt = calls.findIndex(
    ({ name, args }) =>
      /^(write|writev|sendto|sendmsg)$/.test(name) && args.includes('delivered') && args.includes(id),
  );
  const before = calls.slice(0, Math.max(receipt, 0));
  // Client frames are masked, so the read is the last one from a socket before the log is written.
  const logged = before.findLastIndex(isLogWrite);
  const read = before
    .slice(0, Math.max(logged, 0))
    .findLastIndex(({ name, args }) => name === 'read' && args.includes('socket'));
  const synced = logged < 0 ? -1 : before.findIndex((call, i) => i > logged && isSync(call));
  return { read, logged, synced, receipt };
}

/** The steps of a written file as positions in the trace; -1 for a step that did not happen. */
export interface FileOrder {
  /** The sync of a draft beside the file. */
  synced: number;
  /** The step that gives the draft the name of the file. */
  renamed: number;
  /** The first sync of the directory after that step. */
  named: number;
  /** The first time that the file itself is opened to be written, which may leave a part of it. */
  openedItself: number;
}

/** Finds how a file was written for the last time. */
export function fileOrder(calls: readonly SystemCall[], directory: string, name: string): FileOrder {
  const file = `${directory}/${name}`;
  const renamed = calls.findLastIndex(
    ({ name: call, args, result }) =>
      call.startsWith('rename') && args.includes(`"${file}"`) && result.startsWith('0'),
  );
  const draft = /"([^"]+)"/.exec(calls[renamed]?.args ?? '')?.[1];
  const isSyncOf = ({ name: call, args, result }: SystemCall, path: string | undefined): boolean =>
    call === 'fsync' && args.includes(`<${path}>`) && result.startsWith('0');
  return {
    synced: calls.findIndex((call, at) => at < renamed && isSyncOf(call, draft)),
    renamed,
    named: calls.findIndex((call, at) => at > renamed && isSyncOf(call, directory)),
    openedItself: calls.findIndex(
      ({ name: call, args }) =>
        call === 'openat' && args.includes(`"${file}"`) && /O_(WRONLY|RDWR)/.test(args),
    ),
  };
}
