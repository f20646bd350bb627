import type { MessageFrame } from '@signalbox/protocol';
import type { ClusterPort, LiveMessage } from '@signalbox/store';

/** The header of what a broker tells another one. */
interface Header {
  message: MessageFrame;
}

type Cluster = Pick<ClusterPort, 'tell'>;

/** Does what another broker asks for the holder of an inbox. */
export interface LiveListener {
  /** Pushes a message to the holder of its inbox. */
  push(frame: MessageFrame, body: string | undefined): void;
}

/** Passes on a message that is not stored to the broker that holds its inbox. False if no other one does. */
export function passOn(
  cluster: Cluster,
  frame: MessageFrame,
  body: string | undefined,
): Promise<boolean> | false {
  const header: Header = { message: frame };
  return cluster.tell(frame.to, { header: JSON.stringify(header), body }, frame.from.agent);
}

/** Handles what another broker has passed on. */
export function receive({ header, body }: LiveMessage, listener: LiveListener): void {
  listener.push((JSON.parse(header) as Header).message, body);
}
