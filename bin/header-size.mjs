// The HTTP server reads this when it loads. Its default of 4 KB is too small for long access tokens.
import './supported-node.mjs';

process.env.UWS_HTTP_MAX_HEADERS_SIZE = process.env.UWS_HTTP_MAX_HEADERS_SIZE || '16384';
