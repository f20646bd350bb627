import { startBroker } from '@signalbox/broker';

/**
 * A broker whose limits hold a hundred thousand messages of one sender, in a process of its own. It tells its processor time when asked.
 */
const [dataDir, port] = process.argv.slice(2);
const most = 10_000_000;
const rates = {
  messages: most,
  messagesBurst: most,
  frames: most,
  framesBurst: most,
  bytes: 2 ** 30,
  bytesBurst: 2 ** 30,
};
const bounds = { messages: most, bytes: 2 ** 33 };
const limits = { rates, sender: bounds, senderToRecipient: bounds, recipient: bounds, inbox: bounds };
const broker = await startBroker({ dataDir: dataDir!, port: Number(port), limits });
process.on('disconnect', () => process.exit(0));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system });
});
const tokens = await Promise.all(
  ['alice', 'bob'].map((agent) => broker.issueToken({ agent, role: 'worker' })),
);
process.send?.({ url: broker.url, tokens: tokens.map(({ token }) => token) });
