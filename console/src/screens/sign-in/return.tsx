import { createLazyRoute, Link, useRouter } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { FormProblem } from '../../ui/field';
import { comeBack } from './issuer';
import { SignedOutPage } from './signed-out-page';

export const Route = createLazyRoute('/sign-in/return')({ component: Return });

/** Where the issuer sends the browser back to. */
function Return() {
  const answer = Route.useSearch();
  const router = useRouter();
  const began = useRef(false);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => {
    // A code works once.
    if (began.current) return;
    began.current = true;
    comeBack(answer).then((address) => router.history.replace(address), setProblem);
  }, [answer, router]);
  return (
    <SignedOutPage title="Sign in">
      {problem === null ? (
        <p role="status" className="text-sm text-muted">
          Signing in …
        </p>
      ) : (
        <div className="flex flex-col gap-4">
          <FormProblem error={problem} />
          <Link to="/sign-in" className="text-sm text-accent underline">
            Back to the sign-in
          </Link>
        </div>
      )}
    </SignedOutPage>
  );
}
