// The public interface of attachments: the images and files of messages.
export { type AttachmentRef, attachmentShape } from './attachment.js';
export { Attachments, type AttachmentsParts } from './attachments.js';
export {
  attachmentRemovals,
  bindStatement,
  forgetAttachments,
  forgetOfSession,
  forgetUnbound,
} from './attachments.store.js';
export { attachmentOperations } from './operations.js';
export { resealAttachments } from './reseal.js';
