import { hrefOf } from '../model/route.ts';
import { Text } from './text.tsx';

/** Shows a thread, and leads to the timeline of its messages and calls. */
export function ThreadLink({ to }: { to: string }) {
  return (
    <a href={hrefOf('timeline', { thread: to })}>
      <Text>{to}</Text>
    </a>
  );
}
