const MiB = 1024 * 1024;

/** Makes the n-th WebSocket message of a connection, which may hold many frames. */
type Message = (n: number) => string | Buffer;

/** The floods that a greedy client can send over its connections, by name. */
const messages = {
  'notes to everybody': (n: number) =>
    frames(100, (i) => `{"type":"deliver","to":"bystander","id":"${n}-${i}","kind":"note","body":true}\n{}`),
  'notes of 4 MB': (n: number) =>
    `{"type":"deliver","to":"bystander","id":"${n}","kind":"note","body":true}\n"${'x'.repeat(4 * MiB - 100)}"\n`,
  'replies to nothing': (n: number) =>
    frames(
      100,
      (i) =>
        `{"type":"deliver","to":"bystander","id":"${n}-${i}","kind":"reply","correlation_id":"no-${i}","body":true}\n{}`,
    ),
  'cancels of nothing': (n: number) =>
    frames(100, (i) => `{"type":"cancel","to":"bystander","correlation_id":"${n}-${i}"}`),
  'lists of who is connected': (n: number) =>
    frames(20, (i) => `{"type":"list_connected","request_id":"${n}-${i}","with_status":true}`),
  'peeks into its inbox': (n: number) => frames(20, (i) => `{"type":"peek","request_id":"${n}-${i}"}`),
  'lines that are no JSON': () => frames(500, () => 'x'),
  'frames of no known type': () => frames(100, () => '{"type":"gimme"}'),
  'acks of nothing': (n: number) => frames(100, (i) => `{"type":"ack","seqs":[${n * 100 + i + 1}]}`),
  'acks of 2,000 at once': (n: number) =>
    `{"type":"ack","request_id":"${n}","seqs":[${Array.from({ length: 2000 }, (_, i) => i + 1).join(',')}]}\n`,
  'subscriptions again and again': (n: number) =>
    frames(20, (i) => `{"type":"subscribe","request_id":"${n}-${i}"}`),
  'announcements of a status': (n: number) => frames(100, (i) => `{"type":"announce","status":"${n}-${i}"}`),
  'WebSocket messages without a frame': () => '',
  'binary WebSocket messages': () => Buffer.from('x'),
} as const satisfies Record<string, Message>;

/** The flood of one greedy process. */
export interface FloodKind {
  /** The tokens of its connections. By default all are those of one worker. */
  tokens?: 'minting' | 'of 16 children of one minting token' | 'wrong';
  /** The frames that each connection repeats. Without them, a connection is ended when its `hello` is answered, and opened again. */
  message?: Message;
  /** True if it only keeps a processor busy, so that what the broker causes can be told from what the machine does. */
  isIdle?: true;
}

const others = {
  'nothing: it only keeps a processor busy': { isIdle: true },
  'connections again and again': {},
  'connections with a wrong token': { tokens: 'wrong' },
  'issues of child tokens': {
    tokens: 'minting',
    message: (n: number) =>
      frames(
        20,
        (i) =>
          `{"type":"admin","op":"token_issue","request_id":"${n}-${i}","params":{"agent":"greedy-child-${n}-${i}","role":"worker","ttl_ms":60000}}`,
      ),
  },
  'lists, from 16 children of one minting token': {
    tokens: 'of 16 children of one minting token',
    message: messages['lists of who is connected'],
  },
  'lines that are no JSON, from 16 children of one minting token': {
    tokens: 'of 16 children of one minting token',
    message: messages['lines that are no JSON'],
  },
} satisfies Record<string, FloodKind>;

/** The name of a flood. */
export type Flood = keyof typeof messages | keyof typeof others;

/** Every flood by its name. */
export const floods: Record<Flood, FloodKind> = {
  ...(Object.fromEntries(Object.entries(messages).map(([name, message]) => [name, { message }])) as Record<
    keyof typeof messages,
    FloodKind
  >),
  ...others,
};

function frames(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');
}
