import { decideReplySchema, type McpReply } from '@signalbox/protocol';
import type { AskingStack } from '../approvals/asking-stack.ts';

export const runs = (stack: AskingStack) => stack.ran('count').filter(({ at }) => at === 'start').length;

export const decisionOf = (reply: McpReply) => decideReplySchema.parse('data' in reply ? reply.data : reply);
