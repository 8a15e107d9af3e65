import '../styles.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { restore } from '../session/session';
import '../session/theme';
import { Failure, Loading } from '../ui/states';
import { App } from './app';
import { DocumentContext } from './context';
import { loadDocument } from './document';

const place = document.getElementById('root');
if (place === null) throw new Error('the page has no place for the reference');
const root = createRoot(place);

async function start(): Promise<void> {
  root.render(<Loading label="Loading the description of the API" />);
  // The reference is there for everybody; without a sign-in, requests need a pasted key.
  void restore().catch(() => undefined);
  try {
    const described = await loadDocument();
    root.render(
      <StrictMode>
        <DocumentContext value={described}>
          <App />
        </DocumentContext>
      </StrictMode>,
    );
  } catch (error) {
    root.render(<Failure error={error} retry={() => void start()} />);
  }
}

await start();
