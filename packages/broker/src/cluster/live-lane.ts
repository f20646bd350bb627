import type { MessageFrame, Sender } from '@signalbox/protocol';
import type { ClusterPort, LiveMessage } from '@signalbox/store';

/** The header of what a broker tells another one. */
type Header = { message: MessageFrame } | { cancel: { sender: Sender; id: string } };

type Cluster = Pick<ClusterPort, 'tell'>;

/** Does what another broker asks for the holder of an inbox. */
export interface LiveListener {
  /** Pushes a message to the holder of its inbox. */
  push(frame: MessageFrame, body: string | undefined): void;
  /** Cancels the request `id` of a sender in an inbox. */
  cancel(inbox: string, sender: Sender, id: string): void;
}

/** Passes on a message that is not stored to the broker that holds its inbox. False if no other one does. */
export function passOn(
  cluster: Cluster,
  frame: MessageFrame,
  body: string | undefined,
): Promise<boolean> | false {
  return tell(cluster, frame.to, { message: frame }, body);
}

/** Passes on the cancel of a request to the broker that holds the inbox. False if no other one does. */
export function passOnCancel(
  cluster: Cluster,
  inbox: string,
  sender: Sender,
  id: string,
): Promise<boolean> | false {
  return tell(cluster, inbox, { cancel: { sender, id } }, undefined);
}

/** Handles what another broker has passed on. */
export function receive(inbox: string, { header, body }: LiveMessage, listener: LiveListener): void {
  const told = JSON.parse(header) as Header;
  if ('message' in told) listener.push(told.message, body);
  else listener.cancel(inbox, told.cancel.sender, told.cancel.id);
}

function tell(
  cluster: Cluster,
  inbox: string,
  header: Header,
  body: string | undefined,
): Promise<boolean> | false {
  return cluster.tell(inbox, { header: JSON.stringify(header), body });
}
