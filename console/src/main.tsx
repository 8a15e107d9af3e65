import './styles.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './api/queries';
import { router } from './router';
import { restore } from './session/session';
import './session/theme';
import { nonce } from './session/nonce';
import { Failure } from './ui/states';
import { Toasts } from './ui/toasts';

const place = document.getElementById('root');
if (place === null) throw new Error('the page has no place for the console');
const root = createRoot(place);

/** Finds out first whether this browser is signed in, so that no screen shows itself for a moment to nobody. */
async function start(): Promise<void> {
  try {
    await restore();
  } catch (error) {
    root.render(<Failure error={error} retry={() => void start()} />);
    return;
  }
  root.render(
    <StrictMode>
      <CSPProvider nonce={nonce}>
        <QueryClientProvider client={queries}>
          <Toasts>
            <RouterProvider router={router} />
          </Toasts>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}

await start();
