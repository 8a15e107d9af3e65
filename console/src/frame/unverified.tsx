import { useMutation } from '@tanstack/react-query';
import { api, take } from '../api/client';
import { useWays } from '../screens/sign-in/ways';
import { useSession } from '../session/use-session';
import { Button } from '../ui/button';
import { failed, succeeded } from '../ui/toasts';

/** Until the address is verified, some installations spend nothing for the tenant: the person is told why. */
export function Unverified() {
  const { user } = useSession();
  const again = useMutation({
    mutationFn: () => take(api.POST('/api/auth/verify/resend')),
    onSuccess: ({ message }) => succeeded(message),
    onError: (error) => failed('The mail was not sent', error),
  });
  const ways = useWays();
  if (user.email_verified || ways.data?.verifies_addresses !== true) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 border-b border-line bg-warn-soft px-4 py-2 text-sm text-warn">
      <span className="min-w-0 flex-1 wrap-anywhere">
        {user.email} is not verified yet. Open the link in the mail that was sent to it.
      </span>
      <Button busy={again.isPending} onClick={() => again.mutate()}>
        Send it again
      </Button>
    </div>
  );
}
