import { useQueryClient } from '@tanstack/react-query';
import { performDeletion, readAnew, useKey } from '../../api/queries';
import { useRealtime } from '../../api/realtime';

/** Reads consumers again when one was denied or allowed, here or elsewhere; without a key: whichever. */
export function useConsumerEvents(consumerKey?: string): void {
  const [one, list, denied] = [
    useKey('consumer', consumerKey ?? ''),
    useKey('consumers'),
    useKey('denylist'),
  ];
  const refresh = (): void => {
    for (const queryKey of [one, list, denied]) void readAnew(queryKey);
  };
  useRealtime(({ type, data }) => {
    if (type !== 'consumer_denylist_changed') return;
    if (consumerKey === undefined || data['consumer_key'] === consumerKey) refresh();
  }, refresh);
}

/** After a change by this page. */
export function useConsumersChanged(consumerKey: string): () => void {
  const queries = useQueryClient();
  const keys = [
    useKey('consumer', consumerKey),
    useKey('consumers'),
    useKey('denylist'),
    useKey('consumer memory', consumerKey),
  ];
  return () => {
    for (const queryKey of keys) void queries.invalidateQueries({ queryKey });
  };
}

/** The erasure of the person by this page, which `act` does and leads away. */
export function useConsumerErasure(consumerKey: string): (act: () => Promise<void>) => Promise<void> {
  const deleted = [
    useKey('consumer', consumerKey),
    useKey('consumer memory', consumerKey),
    useKey('consumers', 'conversations', consumerKey),
  ];
  const lists = [useKey('consumers'), useKey('denylist')];
  return (act) => performDeletion({ deleted, lists }, act);
}
