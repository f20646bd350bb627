import { isPermitted, operationPermissions, type Sender } from '@signalbox/protocol';
import type { TokenRecord } from '@signalbox/store';

/** Adds to a sender the facts of its token about decisions on tool calls, if it may decide on any. */
export function decidingSender(
  sender: Sender,
  { id, permissions, approves, issuers, parentId, isSignIn }: TokenRecord,
): Sender {
  if (!isPermitted(operationPermissions.request.decide, permissions)) return sender;
  const token = {
    id,
    ...(approves && { approves }),
    ...(issuers && { issuers }),
    ...(isSignIn && { sign_in_of: parentId }),
  };
  return { ...sender, token };
}
