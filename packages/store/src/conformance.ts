import { describe } from 'vitest';
import { approvalTests } from './conformance/approval-tests.ts';
import { capTests } from './conformance/cap-tests.ts';
import { contentTests } from './conformance/content-tests.ts';
import { deadLetterTests } from './conformance/dead-letter-tests.ts';
import { historyTests } from './conformance/history-tests.ts';
import { housekeepingTests } from './conformance/housekeeping-tests.ts';
import { type JournalPlace, journalTests } from './conformance/journal-tests.ts';
import { keptTests } from './conformance/kept-tests.ts';
import { noticeTests } from './conformance/notice-tests.ts';
import { orderTests } from './conformance/order-tests.ts';
import { pinTests } from './conformance/pin-tests.ts';
import { repeatTests } from './conformance/repeat-tests.ts';
import { requestTests } from './conformance/request-tests.ts';
import { scheduledTests } from './conformance/scheduled-tests.ts';
import { settlementTests } from './conformance/settlement-tests.ts';
import type { OpenStore } from './conformance/store-under-test.ts';

export {
  auditLogConformance,
  change,
  entriesOf,
  problemsOf,
  refusal,
} from './conformance/audit-log-tests.ts';
export {
  entryOf,
  type JournalPlace,
  type JournalTestOptions,
  okEnd,
  startedCall,
} from './conformance/journal-tests.ts';
export type { OpenStore, StoreUnderTest } from './conformance/store-under-test.ts';
export { type TokenStoreUnderTest, tokenStoreConformance } from './conformance/token-store-tests.ts';

/** Defines Vitest tests of the rules that every `InboxStore` must follow. Each test opens a store of its own. */
export function inboxStoreConformance(name: string, open: OpenStore): void {
  describe(`${name} is an InboxStore:`, () => {
    describe('order', () => orderTests(open));
    describe('repeats', () => repeatTests(open));
    describe('settlement', () => settlementTests(open));
    describe('requests', () => requestTests(open));
    describe('notices', () => noticeTests(open));
    describe('dead letters', () => deadLetterTests(open));
    describe('scheduled messages', () => scheduledTests(open));
    describe('history', () => historyTests(open));
    describe('caps', () => capTests(open));
    describe('kept bodies', () => keptTests(open));
    describe('content', () => contentTests(open));
    describe('housekeeping', () => housekeepingTests(open));
  });
}

/**
 * Defines Vitest tests of the rules that every `Journal` must follow, with its approvals and pinned definitions. Each test starts a journal
 * of its own. `agesWhileClosed` says whether calls grow old while no process has the journal open.
 */
export function journalConformance(
  name: string,
  start: () => Promise<JournalPlace>,
  options: { agesWhileClosed: boolean },
): void {
  describe(`${name} is a Journal:`, () => {
    describe('calls', () => journalTests(start, options));
    describe('approvals', () => approvalTests(start));
    describe('pinned definitions', () => pinTests(start));
  });
}
