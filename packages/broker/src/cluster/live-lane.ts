import type { MessageFrame } from '@signalbox/protocol';
import type { ClusterPort, LiveMessage } from '@signalbox/store';

/** The header of a message from one broker to another. */
interface Header {
  message: MessageFrame;
}

type Cluster = Pick<ClusterPort, 'tell'>;

/** Carries out the requests of other brokers to the holder of an inbox. */
export interface LiveListener {
  /** Pushes a message to the holder of its inbox. */
  push(frame: MessageFrame, body: string | undefined): void;
}

/** Passes a message that is not stored to the broker that holds its inbox. Returns false if no other broker does. */
export function passOn(
  cluster: Cluster,
  frame: MessageFrame,
  body: string | undefined,
): Promise<boolean> | false {
  const header: Header = { message: frame };
  return cluster.tell(frame.to, { header: JSON.stringify(header), body }, frame.from.agent);
}

/** Handles a message that another broker has passed on. */
export function receive({ header, body }: LiveMessage, listener: LiveListener): void {
  listener.push((JSON.parse(header) as Header).message, body);
}
