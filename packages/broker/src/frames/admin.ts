import type { AdminFrame } from '@signalbox/protocol';
import type { Session } from '../session/session.ts';
import { dropDead, listDead, retryDead, showDead } from './admin/dead-letters.ts';
import { audit, history, stats } from './admin/insight.ts';
import type { Operation } from './admin/operation.ts';
import { tail } from './admin/tail.ts';
import { issueToken, listTokens, revokeToken } from './admin/tokens.ts';
import type { SessionContext } from './context.ts';

const operations: Record<string, { mint: boolean; run: Operation }> = {
  token_issue: { mint: true, run: issueToken },
  token_list: { mint: false, run: listTokens },
  token_revoke: { mint: true, run: revokeToken },
  dead_list: { mint: false, run: listDead },
  dead_show: { mint: false, run: showDead },
  dead_retry: { mint: false, run: retryDead },
  dead_drop: { mint: false, run: dropDead },
  history: { mint: false, run: history },
  audit: { mint: false, run: audit },
  stats: { mint: false, run: stats },
  tail: { mint: false, run: tail },
};

/** An `admin` frame: for the operator, and for a minting token as far as its own children go. */
export async function admin(session: Session, context: SessionContext, frame: AdminFrame): Promise<void> {
  const { op, request_id } = frame;
  const operation = Object.hasOwn(operations, op) ? operations[op] : undefined;
  if (!session.isOperator && !session.mintsOnly) {
    const message = `'${op}' needs the operator's token`;
    session.refuse({ code: 'forbidden', message, field: 'op', request_id });
  } else if (!operation) {
    const message = `unknown operation '${op}'; known: ${Object.keys(operations).join(', ')}`;
    session.refuse({ code: 'unknown_op', message, field: 'op', request_id });
  } else if (!session.isOperator && !operation.mint) {
    session.refuse({
      code: 'forbidden',
      message: `a minting token may not '${op}'`,
      field: 'op',
      request_id,
    });
  } else {
    const outcome = await operation.run(session, context, frame.params ?? {});
    if ('refusal' in outcome) session.refuse({ ...outcome.refusal, request_id });
    else session.send({ type: 'admin_result', request_id, result: outcome.result });
  }
  context.flusher.flush();
}
