const MiB = 1024 * 1024;

/** What a greedy client sends, by name. Each function makes the text of the n-th WebSocket message, which may hold many frames. */
export const floods = {
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
} as const satisfies Record<string, (n: number) => string | Buffer>;

/** The name of one of the {@link floods}. */
export type Flood = keyof typeof floods;

function frames(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');
}
