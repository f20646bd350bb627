import { test } from 'vitest';
import { ways } from '../support/a2a/a2a-client.ts';
import {
  refusedOptions,
  showThatMessagesAreAskedOnce,
  showThatOptionsAreRefused,
} from '../support/a2a/outside-stage.ts';

test.each(ways.slice(0, 1))(
  '$binding, version $version: an agent of another system is asked once per message, with its token.',
  showThatMessagesAreAskedOnce,
);

test.each(refusedOptions.slice(0, 1))(
  'worker serve %j is refused before anything connects.',
  showThatOptionsAreRefused,
);
