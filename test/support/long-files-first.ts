import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, which a first run cannot know. A file that is missing here only makes that run longer. */
const longFiles = [
  'test/store/sqlite-inbox-store.test.ts',
  'test/model/store-model.test.ts',
  'test/faults/kill-campaign.test.ts',
  'test/abuse/slow-readers.test.ts',
  'test/abuse/floods.test.ts',
  'test/cli/up.test.ts',
  'test/cli/history.test.ts',
  'test/cli/round-trip.test.ts',
  'test/worker/http-face-process.test.ts',
  'test/traces/processes.test.ts',
  'test/conformance/conformance.test.ts',
  'test/model/broker-model.test.ts',
  'test/orchestrator/journal-crashes.test.ts',
  'test/cli/backup.test.ts',
  'test/broker/shutdown.test.ts',
];

/** Starts the long files before all others, so that none of them is left to run alone at the end. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longFiles.findIndex((file) => moduleId.endsWith(`/${file}`));
      return found < 0 ? longFiles.length : found;
    };
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}
