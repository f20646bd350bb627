import { connectWire } from '@signalbox/testing';

/**
 * A member of a group in a process of its own, which a test kills. It answers each task with its id, `settles` the task with the reply,
 * and takes a moment for it. argv: url, agent, token, group, window, milliseconds for a task.
 */
const [url, agent, token, address, window, taskMs] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const client = await connectWire(url, { agent: `${agent}#grp-${process.pid}`, token });
client.send({
  type: 'subscribe',
  request_id: 's',
  address,
  shared: true,
  window: Number(window),
  ack_deadline_ms: 60_000,
});
await client.next('subscribed');
process.send!({ ready: true });
process.on('disconnect', () => process.exit(0));
for (;;) {
  const { id, seq, from } = await client.next('message');
  client.send({ type: 'working', seqs: [seq] });
  const { address: to } = from as { address: string };
  setTimeout(() => {
    const reply = { type: 'deliver', to, id: `re:${id}`, kind: 'reply', correlation_id: id, settles: seq };
    client.send(reply, JSON.stringify(agent));
  }, Number(taskMs) * Math.random());
}
