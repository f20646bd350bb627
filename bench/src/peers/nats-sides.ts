import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  type JetStreamClient,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Body, PeerSides } from './peer.ts';
import { Replies } from './replies.ts';

const consumerName = 'consumer';
const ackWaitNanos = 60e9;

export const natsSides: PeerSides = {
  async prepare({ url }) {
    const connection = await connect({ servers: url });
    const manager = await jetstreamManager(connection);
    for (const name of ['requests', 'replies', 'sink', 'pile']) {
      const retention = name === 'pile' ? RetentionPolicy.Limits : RetentionPolicy.Workqueue;
      await manager.streams.add({ name, subjects: [`${name}.>`], retention, storage: StorageType.File });
    }
    for (const stream of ['requests', 'sink']) {
      await manager.consumers.add(stream, {
        durable_name: consumerName,
        ack_policy: AckPolicy.Explicit,
        ack_wait: ackWaitNanos,
        max_ack_pending: 10_000,
      });
    }
    await connection.close();
  },

  async openClient({ url }, id) {
    const connection = await connect({ servers: url });
    const js = jetstream(connection);
    const manager = await jetstreamManager(connection);
    const replies = new Replies();
    await manager.consumers.add('replies', {
      durable_name: id,
      filter_subject: `replies.${id}`,
      ack_policy: AckPolicy.Explicit,
      ack_wait: ackWaitNanos,
      max_ack_pending: 10_000,
    });
    const reading = await consume(await js.consumers.get('replies', id), (message) => {
      message.ack();
      replies.take(message.json<Body>());
    });
    return {
      enqueue: (to, body) => js.publish(`${to}.${id}`, JSON.stringify(body)),
      request: async (body) => {
        const reply = replies.wait(body.n);
        await js.publish(`requests.${id}`, JSON.stringify(body));
        return reply;
      },
      [Symbol.asyncDispose]: async () => {
        await reading.close();
        await manager.consumers.delete('replies', id);
        await connection.close();
      },
    };
  },

  async openConsumer({ url }, onAcked) {
    const connection = await connect({ servers: url });
    const js = jetstream(connection);
    const requests = await consume(await js.consumers.get('requests', consumerName), (message) => {
      void replyTo(js, message);
    });
    const sink = await consume(await js.consumers.get('sink', consumerName), (message) => {
      const { n } = message.json<Body>();
      message.ack();
      onAcked(n);
    });
    return {
      [Symbol.asyncDispose]: async () => {
        await Promise.all([requests.close(), sink.close()]);
        await connection.close();
      },
    };
  },

  async tidy({ url }) {
    const connection = await connect({ servers: url });
    await (await jetstreamManager(connection)).streams.purge('pile');
    await connection.close();
  },
};

function consume(consumer: Consumer, callback: (message: JsMsg) => void): Promise<ConsumerMessages> {
  return consumer.consume({ max_messages: 500, callback });
}

/** The request is acked when its reply is stored. */
async function replyTo(js: JetStreamClient, message: JsMsg): Promise<void> {
  const [, client] = message.subject.split('.');
  await js.publish(`replies.${client}`, JSON.stringify(message.json<Body>()));
  message.ack();
}
