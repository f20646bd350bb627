import { inboxStoreConformance } from '@signalbox/store/conformance';
import { describe } from 'vitest';
import { openStore } from '../support/store/test-store.ts';

// With no room in the memtable each message goes through a segment; by default none of so few does.
describe.each([
  ['SQLite with durability full', { durability: 'full' }],
  ['SQLite with durability process', { durability: 'process' }],
  ['SQLite with a message in each segment', { memtableMessages: 0, segmentMessages: 1 }],
] as const)('The contract of a store', (name, options) => {
  inboxStoreConformance(name, (caps, keepBodies) =>
    openStore({ ...options, keepBodies, ...(caps && { caps }) }),
  );
});
