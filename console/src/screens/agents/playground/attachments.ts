/** A file of the person's machine, as the API takes it. */
export interface Attachment {
  readonly type: 'image' | 'file';
  readonly name: string;
  readonly media_type: string;
  /** In base64. */
  readonly data: string;
}

export const attachmentsMax = 10;
const bytesMax = 5 * 1024 * 1024;

export async function attachmentOf(file: File): Promise<Attachment> {
  if (file.size > bytesMax) throw new Error(`${file.name} has more than 5 MB.`);
  return {
    type: file.type.startsWith('image/') ? 'image' : 'file',
    name: file.name,
    media_type: file.type === '' ? 'application/octet-stream' : file.type,
    data: await base64Of(file),
  };
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      const url = reader.result as string;
      resolve(url.slice(url.indexOf(',') + 1));
    });
    reader.addEventListener('error', () => reject(new Error(`${file.name} could not be read.`)));
    reader.readAsDataURL(file);
  });
}
