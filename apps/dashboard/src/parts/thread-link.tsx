import { hrefOf } from '../model/route.ts';
import { Text } from './text.tsx';

/** Shows a thread, and leads to what was said in it. */
export function ThreadLink({ to }: { to: string }) {
  return (
    <a href={hrefOf('conversations', { thread: to })}>
      <Text>{to}</Text>
    </a>
  );
}
