/** With this nonce a library may add a style element to this page (`EditorView.cspNonce`). */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
