import { type ConfirmChannel, type ConsumeMessage, connect } from 'amqplib';
import type { Body, PeerSides } from './peer.ts';
import { Replies } from './replies.ts';

const prefetch = 512;
const quorum = { durable: true, arguments: { 'x-queue-type': 'quorum' } };

export const rabbitMqSides: PeerSides = {
  async prepare({ url }) {
    const connection = await connect(url);
    const channel = await connection.createChannel();
    for (const queue of ['requests', 'sink', 'pile']) await channel.assertQueue(queue, quorum);
    await connection.close();
  },

  async openClient({ url }, id) {
    const connection = await connect(url, { noDelay: true });
    const channel = await connection.createConfirmChannel();
    const replyTo = `replies-${id}`;
    const replies = new Replies();
    await channel.assertQueue(replyTo, quorum);
    await channel.prefetch(prefetch);
    const ack = turnAcks(channel);
    await channel.consume(replyTo, (message) => {
      // Without a message when the queue is deleted at the end.
      if (!message) return;
      ack(message);
      replies.take(bodyOf(message));
    });
    return {
      enqueue: (to, body) => publish(channel, to, body),
      request: async (body) => {
        const reply = replies.wait(body.n);
        await publish(channel, 'requests', body, replyTo);
        return reply;
      },
      [Symbol.asyncDispose]: async () => {
        await channel.deleteQueue(replyTo);
        await connection.close();
      },
    };
  },

  async openConsumer({ url }, onAcked) {
    const connection = await connect(url, { noDelay: true });
    const requests = await connection.createConfirmChannel();
    await requests.prefetch(prefetch);
    await requests.consume('requests', async (message) => {
      await publish(requests, message!.properties.replyTo, bodyOf(message!));
      requests.ack(message!);
    });
    const sink = await connection.createConfirmChannel();
    await sink.prefetch(prefetch);
    const ack = turnAcks(sink, (messages) => {
      for (const message of messages) onAcked(bodyOf(message).n);
    });
    await sink.consume('sink', (message) => ack(message!));
    return { [Symbol.asyncDispose]: () => connection.close() };
  },

  async tidy({ url }) {
    const connection = await connect(url);
    const channel = await connection.createChannel();
    await channel.purgeQueue('pile');
    await connection.close();
  },
};

function bodyOf(message: ConsumeMessage): Body {
  return JSON.parse(message.content.toString()) as Body;
}

/** Resolves with the confirm. */
function publish(channel: ConfirmChannel, queue: string, body: Body, replyTo?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { persistent: true, ...(replyTo !== undefined && { replyTo }) };
    channel.sendToQueue(queue, Buffer.from(JSON.stringify(body)), options, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

/** Acks everything up to the last message of a turn at once. */
function turnAcks(
  channel: ConfirmChannel,
  onAcked: (messages: ConsumeMessage[]) => void = () => {},
): (message: ConsumeMessage) => void {
  let pending: ConsumeMessage[] = [];
  const flush = (): void => {
    const acked = pending;
    pending = [];
    channel.ack(acked.at(-1)!, true);
    onAcked(acked);
  };
  return (message) => {
    if (pending.push(message) === 1) setImmediate(flush);
  };
}
