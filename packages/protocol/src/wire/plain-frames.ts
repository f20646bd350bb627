import type { BrokerFrame } from './broker-frames.ts';
import type { ClientFrame } from './client-frames.ts';
import { plainAck, plainDeliver, plainDelivered, plainMessage, plainWorking } from './common-frames.ts';
import { brokerShapes, clientShapes } from './frame-shapes.ts';
import { fits, type Shape } from './shape.ts';

type Fields = Record<string, unknown>;

/**
 * The frame, without unknown fields, if the schema would find no fault in it. Says so much faster than the schema does,
 * without loading it; whatever is no plain frame is the schema's to judge.
 */
export function plainClientFrame(object: Fields): ClientFrame | undefined {
  switch (object.type) {
    case 'deliver':
      return plainDeliver(object);
    case 'ack':
      return plainAck(object);
    case 'working':
      return plainWorking(object);
    default:
      return frameOfShape(clientShapes, object);
  }
}

/** As {@link plainClientFrame}, for frames of the broker. */
export function plainBrokerFrame(object: Fields): BrokerFrame | undefined {
  switch (object.type) {
    case 'message':
      return plainMessage(object);
    case 'delivered':
      return plainDelivered(object);
    default:
      return frameOfShape(brokerShapes, object);
  }
}

function frameOfShape<T>(shapes: ReadonlyMap<unknown, Shape>, object: Fields): T | undefined {
  const shape = shapes.get(object.type);
  return shape !== undefined && fits(object, shape) ? (object as T) : undefined;
}
